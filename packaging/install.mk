# SPDX-License-Identifier: GPL-2.0-or-later
# make install: programs always, the module when it has been built.

INSTALL	?= install
# The kernel it was built for, which need not be the one that runs.
MODVER	 = $(firstword $(shell PATH=$$PATH:/sbin:/usr/sbin modinfo -F vermagic $(O)/ehsched.ko 2>/dev/null))
MODDIR	?= /lib/modules/$(MODVER)/updates
BASH_COMPLETION ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETION ?= $(PREFIX)/share/zsh/site-functions
FISH_COMPLETION ?= $(PREFIX)/share/fish/vendor_completions.d
UNITDIR	?= /usr/lib/systemd/system
MANIFEST ?= $(PREFIX)/share/ehsched/installed

LIBEXEC	:= ehctl-commands ehstub ehlaunch ehlook ehview ehfiles ehhist ehnames ehplan ehspawn.so ehsim ehcert ehtop ehmetrics
COMPLETION := $(addprefix $(O)/completion/,ehctl.bash _ehctl ehctl.fish)
BUILT	:= $(addprefix $(O)/bin/,ehctl ehrsh ehagent $(LIBEXEC)) $(COMPLETION)
PAGES	:= $(wildcard tools/man/*.[1-8])
.PHONY: install uninstall man completion

# The version stands in the pages' last line.
man: $(PAGES:tools/man/%=$(O)/man/%)
$(O)/man/%: tools/man/% VERSION
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)sed '/^\.TH /s/ ehsched "/ "ehsched $(VERSION)" "/' $< >$@

# What ehctl and the programs that it starts say of their commands.
completion: $(COMPLETION)
tools: $(COMPLETION)
$(O)/completion/ehctl.bash: SHELL_NAME = bash
$(O)/completion/_ehctl: SHELL_NAME = zsh
$(O)/completion/ehctl.fish: SHELL_NAME = fish
$(COMPLETION): tools/completion/generate $(addprefix $(O)/bin/,ehctl $(filter ehctl-commands ehplan ehsim ehcert ehtop ehmetrics,$(LIBEXEC)))
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)tools/completion/generate $(O)/bin/ehctl $(SHELL_NAME) >$@

# A user who may not read a program cannot trace its process, from its first instruction on: these run as users, and hold what is
# not theirs.
UNREADABLE := ehview ehfiles

# MODE SOURCE TARGET
define to-install
755 $(O)/bin/ehctl $(PREFIX)/bin/ehctl
755 $(O)/bin/ehrsh $(PREFIX)/bin/ehrsh
755 $(O)/bin/ehagent $(PREFIX)/sbin/ehagent
$(foreach p,$(LIBEXEC),$(if $(filter $(p),$(UNREADABLE)),711,755) $(O)/bin/$(p) $(PREFIX)/libexec/ehsched/$(p)
)644 packaging/systemd/ehagent.service $(UNITDIR)/ehagent.service
644 packaging/systemd/ehlaunch.service $(UNITDIR)/ehlaunch.service
644 packaging/systemd/ehlaunch.socket $(UNITDIR)/ehlaunch.socket
644 packaging/systemd/ehmetrics.service $(UNITDIR)/ehmetrics.service
644 packaging/systemd/ehsched.sysusers /usr/lib/sysusers.d/ehsched.conf
644 packaging/systemd/ehsched.tmpfiles /usr/lib/tmpfiles.d/ehsched.conf
644 packaging/firewall/ehsched.xml $(PREFIX)/lib/firewalld/services/ehsched.xml
644 packaging/firewall/ehsched.ufw /etc/ufw/applications.d/ehsched
644 packaging/grafana/ehsched.json $(PREFIX)/share/ehsched/grafana/ehsched.json
644 packaging/examples/agent.conf $(PREFIX)/share/doc/ehsched/agent.conf
$(foreach p,$(PAGES:tools/man/%=%),644 $(O)/man/$(p) $(PREFIX)/share/man/man$(subst .,,$(suffix $(p)))/$(p)
)644 $(O)/completion/ehctl.bash $(BASH_COMPLETION)/ehctl
644 tools/completion/ehrsh.bash $(BASH_COMPLETION)/ehrsh
644 $(O)/completion/_ehctl $(ZSH_COMPLETION)/_ehctl
644 $(O)/completion/ehctl.fish $(FISH_COMPLETION)/ehctl.fish
$(if $(wildcard $(O)/ehsched.ko),644 $(O)/ehsched.ko $(MODDIR)/ehsched.ko)
endef

##  install         what was built, below DESTDIR; notes what it wrote in PREFIX/share/ehsched/installed
# What is there is not built again: it may have been built with other flags, and by another user.
install: export TO_INSTALL = $(to-install)
install: export DESTDIR := $(DESTDIR)
install: $(if $(filter-out $(wildcard $(BUILT)),$(BUILT)),tools) man
	$(call say,INSTALL,$(or $(DESTDIR),/))
	$(Q)printf '%s\n' "$$TO_INSTALL" | sed '/^$$/d' | INSTALL='$(INSTALL)' packaging/installed add $(MANIFEST)
	@[ -f $(O)/ehsched.ko ] || \
		echo "install: no $(O)/ehsched.ko, so without the module: run 'make module' first to install it" >&2
	@[ -n "$(DESTDIR)" ] || ! [ -f $(O)/ehsched.ko ] || PATH=$$PATH:/sbin:/usr/sbin depmod $(MODVER)
	@[ -n "$(DESTDIR)" ] || packaging/user
	@[ -n "$(DESTDIR)" ] || ! [ -d /run/systemd/system ] || systemctl daemon-reload
	@[ -f $(DESTDIR)/etc/ehsched/agent.conf ] || \
		echo "install: next, 'ehctl init NAME' on the first host of a cluster, 'ehctl join' on others (ehsched(7))"

##  uninstall       remove what make install has written, and nothing else
uninstall: export DESTDIR := $(DESTDIR)
uninstall:
	$(call say,REMOVE,$(or $(DESTDIR),/))
	$(Q)kernels=$$(sed -n 's,^/lib/modules/\([^/]*\)/.*\.ko$$,\1,p' $(DESTDIR)$(MANIFEST) 2>/dev/null); \
	packaging/installed remove $(MANIFEST) || exit 1; \
	[ -n "$(DESTDIR)" ] || for v in $$kernels; do PATH=$$PATH:/sbin:/usr/sbin depmod $$v || exit 1; done

##  deb             Debian packages in O/deb; packaging/deps deb installs what that needs
.PHONY: deb
deb:
	packaging/deb $(O)/deb
