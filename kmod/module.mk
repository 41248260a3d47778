# SPDX-License-Identifier: GPL-2.0-only
# Target `module`: $(O)/ehsched.ko for the kernel KVER, whose headers are in
# KDIR. Included by the top Makefile; products land in $(O) only, because the
# sources are copied there first (kbuild writes beside the sources).
O ?= build
# the running kernel if its headers are here, else the newest that has headers
KVER ?= $(or $(if $(wildcard /lib/modules/$(shell uname -r)/build/Makefile),$(shell uname -r)),$(shell ls -d /lib/modules/*/build/Makefile 2>/dev/null | cut -d/ -f4 | sort -V | tail -n 1))
KDIR ?= /lib/modules/$(KVER)/build

kmod-dir := $(dir $(lastword $(MAKEFILE_LIST)))
kmod-copy = $(abspath $(O))/kmod-$(KVER)

##  module          O/ehsched.ko for the kernel KVER with headers in KDIR
.PHONY: module module-clean
# kbuild would take our O, which make hands down, for its own.
module: MAKEOVERRIDES := $(filter-out O=%,$(MAKEOVERRIDES))
module:
	@test -e "$(KDIR)/Makefile" || { \
		echo "module: no kernel headers in '$(KDIR)': install linux-headers-amd64, or set KVER or KDIR" >&2; \
		exit 1; }
	@mkdir -p $(kmod-copy)/kmod/compat $(kmod-copy)/uapi/linux
	@cp -u --preserve=timestamps $(kmod-dir)Kbuild $(kmod-dir)*.[ch] $(kmod-copy)/kmod/
	@cp -u --preserve=timestamps $(kmod-dir)compat/* $(kmod-copy)/kmod/compat/
	@cp -u --preserve=timestamps $(kmod-dir)../uapi/linux/*.h $(kmod-copy)/uapi/linux/
	@cp -u --preserve=timestamps $(kmod-dir)../VERSION $(kmod-copy)/
	$(Q)+$(MAKE) --no-print-directory -C $(KDIR) M=$(kmod-copy)/kmod $(if $(W),W=$(W)) modules
	@cp -u --preserve=timestamps $(kmod-copy)/kmod/ehsched.ko $(O)/ehsched.ko

module-clean:
	rm -rf $(O)/kmod-* $(O)/ehsched.ko
