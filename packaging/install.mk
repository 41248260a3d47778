# SPDX-License-Identifier: GPL-2.0-or-later
# make install: programs always, the module when it has been built.

INSTALL	?= install
# The kernel it was built for, which need not be the one that runs.
MODVER	 = $(firstword $(shell PATH=$$PATH:/sbin:/usr/sbin modinfo -F vermagic $(O)/ehsched.ko 2>/dev/null))
MODDIR	?= $(DESTDIR)/lib/modules/$(MODVER)/updates
BASH_COMPLETION ?= $(DESTDIR)$(PREFIX)/share/bash-completion/completions

install: tools
	$(INSTALL) -D -m 755 $(O)/bin/ehctl $(DESTDIR)$(PREFIX)/bin/ehctl
	$(INSTALL) -D -m 755 $(O)/bin/ehagent $(DESTDIR)$(PREFIX)/sbin/ehagent
	$(INSTALL) -D -m 755 $(O)/bin/ehstub $(DESTDIR)$(PREFIX)/libexec/ehsched/ehstub
	$(INSTALL) -D -m 755 $(O)/bin/ehview $(DESTDIR)$(PREFIX)/libexec/ehsched/ehview
	$(INSTALL) -D -m 755 $(O)/bin/ehfiles $(DESTDIR)$(PREFIX)/libexec/ehsched/ehfiles
	$(INSTALL) -D -m 755 $(O)/bin/ehplan $(DESTDIR)$(PREFIX)/libexec/ehsched/ehplan
	$(INSTALL) -D -m 755 $(O)/bin/ehsim $(DESTDIR)$(PREFIX)/libexec/ehsched/ehsim
	$(INSTALL) -D -m 755 tools/ehcert $(DESTDIR)$(PREFIX)/libexec/ehsched/ehcert
	$(INSTALL) -D -m 644 packaging/systemd/ehagent.service $(DESTDIR)/lib/systemd/system/ehagent.service
	$(INSTALL) -D -m 644 packaging/examples/agent.conf $(DESTDIR)$(PREFIX)/share/doc/ehsched/agent.conf
	for p in tools/man/*.[1-8]; do \
		$(INSTALL) -D -m 644 $$p $(DESTDIR)$(PREFIX)/share/man/man$${p##*.}/$${p##*/} || exit 1; \
	done
	$(INSTALL) -D -m 644 tools/completion/ehctl.bash $(BASH_COMPLETION)/ehctl
	if [ -f $(O)/ehsched.ko ]; then \
		$(INSTALL) -D -m 644 $(O)/ehsched.ko $(MODDIR)/ehsched.ko && \
		{ [ -n "$(DESTDIR)" ] || depmod $(MODVER); }; \
	else \
		echo "install: no $(O)/ehsched.ko, so without the module: run 'make module' first to install it" >&2; \
	fi
	@[ -n "$(DESTDIR)" ] || ! [ -d /run/systemd/system ] || systemctl daemon-reload
	@[ -f $(DESTDIR)/etc/ehsched/agent.conf ] || \
		echo "install: write /etc/ehsched/agent.conf next, from $(PREFIX)/share/doc/ehsched/agent.conf"

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/ehctl $(DESTDIR)$(PREFIX)/sbin/ehagent
	rm -rf $(DESTDIR)$(PREFIX)/libexec/ehsched $(DESTDIR)$(PREFIX)/share/doc/ehsched
	rm -f $(DESTDIR)/lib/systemd/system/ehagent.service $(BASH_COMPLETION)/ehctl
	for p in tools/man/*.[1-8]; do \
		rm -f $(DESTDIR)$(PREFIX)/share/man/man$${p##*.}/$${p##*/}; \
	done
	rm -f $(DESTDIR)/lib/modules/*/updates/ehsched.ko
	[ -n "$(DESTDIR)" ] || for v in /lib/modules/*/modules.dep; do depmod $$(basename $$(dirname $$v)) || exit 1; done
.PHONY: uninstall
