# SPDX-License-Identifier: GPL-2.0-only
# Target `module`: $(O)/ehsched.ko for the kernel KVER, whose headers are in
# KDIR. Included by the top Makefile. The sources are first copied to $(O),
# because kbuild writes beside them. V=1 shows the commands.
# CONFIG_EHSCHED_KUNIT_TEST=m builds ehsched_test.ko, too: for kernels with KUnit.
O ?= build
# the running kernel if its headers are here, else the newest that has headers
KVER ?= $(or $(if $(wildcard /lib/modules/$(shell uname -r)/build/Makefile),$(shell uname -r)),$(shell ls -d /lib/modules/*/build/Makefile 2>/dev/null | cut -d/ -f4 | grep -v -- -rt- | sort -V | tail -n 1))
KDIR ?= /lib/modules/$(KVER)/build

kmod-dir := $(dir $(lastword $(MAKEFILE_LIST)))
kmod-copy = $(abspath $(O))/kmod-$(KVER)

# Without the kernel's image there are no types to refer to; kbuild would say so each time.
kmod-btf = $(if $(wildcard $(KDIR)/vmlinux),,CONFIG_DEBUG_INFO_BTF_MODULES=)

##  module          O/ehsched.ko for the kernel KVER with headers in KDIR
.PHONY: module module-clean
# make passes our O on, and kbuild would take it for its own.
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
	$(Q)+$(MAKE) --no-print-directory -C $(KDIR) M=$(kmod-copy)/kmod $(if $(W),W=$(W)) $(kmod-btf) modules
	@cp -u --preserve=timestamps $(kmod-copy)/kmod/*.ko $(O)/

module-clean:
	rm -rf $(O)/kmod-* $(O)/ehsched.ko $(O)/ehsched_test.ko

# The module inside of a kernel tree, and as DKMS builds it; a few minutes each.
.PHONY: check-intree check-dkms
##  check-intree    the module built inside of a kernel tree
check-intree:
	packaging/deps -n build module debug
	EHS_BUILD=$(O) selftests/kmod/intree
##  check-dkms      the module built as DKMS does
check-dkms:
	packaging/deps -n module
	KVER=$(KVER) selftests/kmod/dkms
