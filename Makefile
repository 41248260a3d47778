# SPDX-License-Identifier: GPL-2.0-or-later
# `make help` lists targets and variables: the lines of the makefiles that begin with ## and #:

# ---- what a user may set

O	?= build$(if $(filter 1,$(SAN)),-san)$(if $(filter 1,$(COV)),-cov)
# make defines CC itself, so ?= would leave it at cc
ifeq ($(origin CC),default)
CC	:= gcc
endif
MUSL_CC	?= musl-gcc
PKG_CONFIG ?= pkg-config
CFLAGS	?= $(if $(filter 1,$(SAN) $(COV)),-O1,-O2) -g
STUB_CFLAGS ?= -Os -g
PREFIX	?= /usr
DESTDIR	?=

VERSION	:= $(strip $(file <VERSION))

# ---- quiet unless V=1

ifeq ($(V),1)
Q	:=
say	 =
else
Q	:= @
# $(call say,WHAT,FILE), printed by make itself: a process for each line costs more than the line is worth
say	 = $(if $(findstring s,$(firstword -$(MAKEFLAGS))),,$(info $(call column,$(1))$(patsubst $(O)/%,%,$(2))))
# make cannot pad: here colons are spaces
columns	:= AR:::::: CC:::::: CCLD:::: FUZZ_CC: GEN::::: INSTALL: LD:::::: MUSL_CC: REMOVE::
column	 = $(subst :, ,::$(filter $(1):%,$(columns)))
endif

# ---- flags

PKGS	:= libnl-3.0 libnl-genl-3.0 libevent libevent_openssl libssl libcrypto libnghttp2 jansson libconfuse libxxhash libseccomp smartcols
PLAN_LIBS := -lsmartcols -ljansson -lglpk -lmetis -lexpat -lm
WARN	:= -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter
BASE	:= -std=gnu11 -D_GNU_SOURCE $(WARN) -Iuapi -Ilib -Iagent -I.

# Each is asked once, and not before packaging/deps has had its chance to install the packages.
once	 = $(eval $(1) := $(2))$($(1))
PKG_CFLAGS = $(call once,PKG_CFLAGS,$(shell $(PKG_CONFIG) --cflags $(PKGS))$(if $(filter-out 0,$(.SHELLSTATUS)),$(error \
	libraries are missing: `packaging/deps -n build` says which, and without -n installs them)))
PKG_LIBS = $(call once,PKG_LIBS,$(shell $(PKG_CONFIG) --libs $(PKGS)) -lpthread -lm)
cc-option = $(shell $(CC) -Werror $(1) -c -x c /dev/null -o /dev/null 2>/dev/null && echo '$(1)')

# What makes errors of memory harder to use. Fortify needs optimisation, and hides errors from ASan.
HARDEN_CPPFLAGS = $(if $(filter 1,$(SAN))$(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,$(if \
	$(filter-out -O0,$(filter -O%,$(CFLAGS))),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
HARDEN_CFLAGS = $(call once,HARDEN_CFLAGS,-fPIE -fstack-protector-strong \
	$(call cc-option,-fstack-clash-protection) $(call cc-option,-fcf-protection))
HARDEN_LDFLAGS := -pie -Wl,-z,relro,-z,now

MODE	:=
ifeq ($(SAN),1)
MODE	+= -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
endif
ifeq ($(COV),1)
MODE	+= --coverage
endif

# $(call compile,NAME), of NAME.c; CFLAGS_NAME and CFLAGS_DIRECTORY are for one file and those of one directory
compile	 = $(CC) $(BASE) $(PKG_CFLAGS) $(HARDEN_CPPFLAGS) $(CPPFLAGS) $(HARDEN_CFLAGS) $(MODE) $(CFLAGS) \
	   $(CFLAGS_$(1)) $(CFLAGS_$(patsubst %/,%,$(dir $(1))))
# $(call link,LIBRARIES). Only what is used: loading libraries is most of the time that ehctl exec takes here.
link	 = $(CC) $(MODE) $(CFLAGS) $(HARDEN_LDFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $(filter %.o,$^) $(filter %.a,$^) $(1)

# ---- targets

.DELETE_ON_ERROR:
.PHONY: all tools module check check-unit coverage demo bench install clean help FORCE

##
##  all             programs and module (default)
##  tools           programs, in O/bin; needs no kernel headers
all: tools module
tools: $(addprefix $(O)/bin/,ehagent ehctl ehctl-commands ehrsh ehplan ehsim ehcert ehstub ehlaunch ehlook ehview ehfiles ehhist ehnames ehtop ehmetrics ehspawn.so)

LIB_SRC	  := $(wildcard lib/eh/*.c lib/wire/*.c lib/job/*.c lib/cluster/*.c lib/cert/*.c lib/history/*.c lib/cost/*.c \
	lib/site/*.c)
SIM_SRC	  := $(wildcard lib/sim/*.c)
PLAN_SRC  := $(wildcard lib/plan/*.c lib/plan/*/*.c)
COMPANION := helpers/common/companion.c
# Of all that speak to the agent, and the agent's.
ADDRESS	  := helpers/common/agent_address.c helpers/common/number.c
PIDFD	  := helpers/common/pidfd.c
CONTROL	  := helpers/common/control.c
COMMON_SRC := $(wildcard tools/common/*.c) $(COMPANION)
AGENT_SRC := $(wildcard agent/*.c agent/*/*.c) $(COMPANION) $(ADDRESS) $(PIDFD) $(CONTROL) $(addprefix helpers/common/,device.c directory.c mountinfo.c)
# The command line of a program that is started elsewhere.
WORDS	  := helpers/common/exec_words.c helpers/common/program.c
EHCTL_SRC := $(wildcard tools/ehctl/*.c) $(COMMON_SRC) $(ADDRESS) $(WORDS)
EHTOP_SRC := $(wildcard tools/ehtop/*.c) tools/ehctl/client.c tools/ehctl/ended.c $(COMMON_SRC) $(ADDRESS)
EHMETRICS_SRC := $(wildcard tools/ehmetrics/*.c) $(COMMON_SRC) $(ADDRESS)
EHRSH_SRC := $(wildcard tools/ehrsh/*.c) $(COMPANION)
EHPLAN_SRC := $(wildcard tools/ehplan/*.c) $(COMMON_SRC) tools/ehctl/client.c tools/ehctl/launch.c $(ADDRESS) $(WORDS)
EHSIM_SRC := $(wildcard tools/ehsim/*.c) $(COMMON_SRC)
EHCERT_SRC := $(wildcard tools/ehcert/*.c) $(COMMON_SRC)
VIEW_SRC  := $(wildcard helpers/ehview/*.c) $(CONTROL) helpers/common/stream.c
FILES_SRC := $(wildcard helpers/ehfiles/*.c) $(CONTROL) helpers/common/stream.c
LOOKUP_SRC := $(addprefix helpers/common/,lookup.c names.c)
LOOK_SRC  := $(wildcard helpers/ehlook/*.c) $(LOOKUP_SRC) $(addprefix helpers/common/,device.c mountinfo.c)
HIST_SRC  := $(wildcard helpers/ehhist/*.c)
NAMES_SRC := helpers/ehnames/main.c helpers/common/directory.c
END_SRC	  := $(wildcard helpers/end/*.c lib/job/*.c) $(ADDRESS) helpers/common/mountinfo.c \
	$(addprefix lib/wire/,attach.c clean.c cursor.c frame.c job.c named.c seen.c terminal.c view.c)
STUB_SRC  := $(wildcard helpers/ehstub/*.c) $(END_SRC)
LAUNCH_SRC := $(wildcard helpers/ehlaunch/*.c helpers/ehguest/*.c) $(END_SRC) $(COMPANION) $(LOOKUP_SRC) $(PIDFD) $(CONTROL) lib/site/who.c lib/site/map.c lib/wire/launch_digest.c lib/wire/wish.c
ENDS_SRC  := $(sort helpers/ehctl/main.c $(filter helpers/%,$(STUB_SRC) $(LAUNCH_SRC)))

objects	= $(patsubst %.c,$(O)/%.o,$(1))

# Written when the flags have changed, so that everything is compiled again then.
$(O)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(call compile,) $(call link,) $(call compile-stub))' | cmp -s - $@ || \
		printf '%s\n' '$(subst ','\'',$(call compile,) $(call link,) $(call compile-stub))' >$@

$(O)/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(call compile,$*) -MMD -MP -c -o $@ $<

$(O)/%.a:
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $^

$(O)/bin/%:
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(call link,$(LIBS))

$(O)/libeh.a: $(call objects,$(LIB_SRC))
$(O)/libsim.a: $(call objects,$(SIM_SRC))
$(O)/libplan.a: $(call objects,$(PLAN_SRC))

$(O)/bin/ehagent: $(call objects,$(AGENT_SRC)) $(O)/libplan.a $(O)/libeh.a
$(O)/bin/ehagent: LIBS = $(PKG_LIBS)

# Its loops become vector instructions; no value there is NaN or infinite.
CFLAGS_lib/plan/dag/scan := -O3 -fno-signed-zeros -ffinite-math-only -fno-trapping-math

# Those that print it, see lib/version.h.
CFLAGS_agent/main := -DEHSCHED_VERSION=$(VERSION)
CFLAGS_tools/ehctl/main := $(CFLAGS_agent/main)
CFLAGS_tools/ehrsh/main := $(CFLAGS_agent/main)
$(O)/agent/main.o $(O)/tools/ehctl/main.o $(O)/tools/ehrsh/main.o: VERSION

$(O)/bin/ehctl-commands: $(call objects,$(EHCTL_SRC)) $(O)/libeh.a
$(O)/bin/ehctl-commands: LIBS = $(PKG_LIBS)

# Is started as often as ssh was: it loads no library but libc.
$(O)/bin/ehrsh: $(call objects,$(EHRSH_SRC)) $(O)/libeh.a

# A program beside ehctl, which starts it: nothing else has to load these libraries.
$(O)/bin/ehplan: $(call objects,$(EHPLAN_SRC)) $(O)/libplan.a $(O)/libeh.a
$(O)/bin/ehplan: LIBS = $(PLAN_LIBS)

# Is loaded into ninja, which knows no sanitizer.
$(O)/bin/ehspawn.so: tools/ehspawn/ehspawn.c $(O)/flags
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(BASE) $(HARDEN_CPPFLAGS) $(CPPFLAGS) $(HARDEN_CFLAGS) $(filter-out -fsanitize% --coverage,$(CFLAGS)) $(LDFLAGS) \
		-Wl,-z,relro,-z,now -fPIC -shared -o $@ $<

# Likewise: it needs the math library, and a start of ehctl should not load more than it uses.
$(O)/bin/ehsim: $(call objects,$(EHSIM_SRC)) $(O)/libsim.a $(O)/libeh.a
$(O)/bin/ehsim: LIBS = -lsmartcols -ljansson -lm

# Likewise: it needs the terminal.
$(O)/bin/ehtop: $(call objects,$(EHTOP_SRC)) $(O)/libeh.a
$(O)/bin/ehtop: LIBS = $(shell $(PKG_CONFIG) --libs ncursesw jansson smartcols) -lm

# Likewise: it speaks HTTP, and confines itself.
$(O)/bin/ehmetrics: $(call objects,$(EHMETRICS_SRC)) $(O)/libeh.a
$(O)/tools/ehmetrics/page.o: $(wildcard tools/ehmetrics/page/*)
$(O)/bin/ehmetrics: LIBS = $(shell $(PKG_CONFIG) --libs libevent jansson libseccomp smartcols)

# Likewise: it makes keys and certificates.
$(O)/bin/ehcert: $(call objects,$(EHCERT_SRC)) $(O)/libeh.a
$(O)/bin/ehcert: LIBS = $(shell $(PKG_CONFIG) --libs libssl libcrypto smartcols jansson)

# Is started again and again: its digests are inline, and it loads no library but libc.
$(O)/bin/ehlook: $(call objects,$(LOOK_SRC)) $(O)/libeh.a

# The two sides of a view.
CFLAGS_helpers/ehview = $(call once,CFLAGS_helpers/ehview,$(shell $(PKG_CONFIG) --cflags fuse3))
$(O)/bin/ehview: $(call objects,$(VIEW_SRC)) $(O)/libeh.a
$(O)/bin/ehview: LIBS = $(shell $(PKG_CONFIG) --libs fuse3 libevent_core)
$(O)/bin/ehfiles: $(call objects,$(FILES_SRC)) $(O)/libeh.a
$(O)/bin/ehfiles: LIBS = $(shell $(PKG_CONFIG) --libs libevent_core)

$(O)/bin/ehnames: $(call objects,$(NAMES_SRC))

# The only program that has a database: the agent has no need of its code.
$(O)/bin/ehhist: $(call objects,$(HIST_SRC)) $(O)/libeh.a
$(O)/bin/ehhist: LIBS = $(shell $(PKG_CONFIG) --libs sqlite3 jansson libseccomp)

# Static and without glibc: it is in memory once for every task that is away. No sanitizer's library is
# linked into it; errors that UBSan finds are traps.
# The kernel's headers, behind musl's own.
STUB_HEADERS = $(call once,STUB_HEADERS,$(addprefix -idirafter /usr/include,/ /$(shell $(CC) -print-multiarch)))
compile-stub = $(MUSL_CC) $(BASE) $(CPPFLAGS) $(STUB_HEADERS) -fPIE -fstack-protector-strong \
	$(if $(filter 1,$(SAN)),-fsanitize=undefined -fsanitize-undefined-trap-on-error) $(STUB_CFLAGS)
# musl-gcc knows no -static-pie: it is told which start files to take.
MUSL_DIR = $(call once,MUSL_DIR,$(dir $(shell $(MUSL_CC) -\#\#\# -x c /dev/null 2>&1 | grep -o '[^ "]*/Scrt1\.o')))
$(O)/stub/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(call say,MUSL_CC,$@)
	$(Q)$(compile-stub) -MMD -MP -c -o $@ $<

# What users start is the stub for `ehctl exec`, and becomes the program of all commands for the others.
$(O)/bin/ehctl: $(patsubst %.c,$(O)/stub/%.o,helpers/ehctl/main.c $(filter-out %/main.c,$(STUB_SRC)) $(COMPANION) $(WORDS))
$(O)/bin/ehstub: $(patsubst %.c,$(O)/stub/%.o,$(STUB_SRC))
$(O)/bin/ehlaunch: $(patsubst %.c,$(O)/stub/%.o,$(LAUNCH_SRC))
$(O)/bin/ehctl $(O)/bin/ehstub $(O)/bin/ehlaunch:
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(MUSL_CC) -nostartfiles -static -Wl,-pie,--no-dynamic-linker,-z,text,-z,relro,-z,now $(LDFLAGS) -o $@ \
		$(MUSL_DIR)rcrt1.o $(MUSL_DIR)crti.o $(filter %.o,$^) $(MUSL_DIR)crtn.o

include uapi/uapi.mk kmod/module.mk selftests/selftests.mk selftests/bench/bench.mk packaging/install.mk docs/docs.mk
-include $(shell find $(O) -name '*.d' 2>/dev/null)

# ---- for editors

##  compile_commands.json
##                  how each file is compiled, for clangd; with the module if it was built
comma	:= ,
json	 = $(subst ",\",$(subst \,\\,$(1)))
# $(call entry,FILE,COMMAND)
entry	 = {"directory": "$(call json,$(CURDIR))", "file": "$(1)", "command": "$(call json,$(2)) -c -o $(O)/$(1:.c=.o) $(1)"}
ALL_SRC	 = $(sort $(LIB_SRC) $(SIM_SRC) $(PLAN_SRC) $(AGENT_SRC) $(EHCTL_SRC) $(EHRSH_SRC) $(EHPLAN_SRC) $(EHSIM_SRC) $(EHTOP_SRC) $(EHMETRICS_SRC) $(EHCERT_SRC) $(VIEW_SRC) $(FILES_SRC) $(LOOK_SRC) $(HIST_SRC) $(NAMES_SRC) tools/ehspawn/ehspawn.c $(UNIT_SRC) $(HARNESS_SRC) $(FUZZ_SRC))
compile_commands.json: FORCE
	$(call say,GEN,$@)
	$(file >$@,[)
	$(foreach f,$(ALL_SRC),$(file >>$@,$(call entry,$(f),$(call compile,$(f:.c=)))$(comma)))
	$(foreach f,$(ENDS_SRC),$(file >>$@,$(call entry,$(f),$(compile-stub))$(if \
		$(filter $(f),$(lastword $(ENDS_SRC))),,$(comma))))
	@for made in $(kmod-copy)/kmod/.*.o.cmd; do \
		name=$${made##*/.}; name=kmod/$${name%.o.cmd}.c; \
		[ ! -f "$$name" ] || sed -n -e '1!d; s/^[a-z]*cmd_[^ ]* := *//; s/ ;.*//; s/[\\"]/\\&/g' \
			-e 's,$(kmod-copy)/kmod/\([a-z_]*\.c\),$(CURDIR)/kmod/\1,' \
			-e "s,.*,\,{\"directory\": \"$(realpath $(KDIR))\"\, \"file\": \"$(CURDIR)/$$name\"\, \"command\": \"&\"},p" $$made; \
	done >>$@
	@echo ']' >>$@

# ---- tests and a look at it

# A new machine has only gcc and make: build with all processors unless told how many.
JOBS = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

##  demo            three virtual machines and a build on all of them; installs missing packages
demo:
	@selftests/demo/announce
	@packaging/deps build module test
	$(Q)$(MAKE) --no-print-directory $(JOBS) all
	$(Q)selftests/demo/run $(O)

##  check           everything that must always hold; T="kmod/40 unit" for a part of it
check:
	@packaging/deps -n build module test
	$(Q)$(MAKE) --no-print-directory $(JOBS) -C selftests O=$(O) T="$(T)" run_tests

##  check-unit      the tests of lib, and of parts of the agent
check-unit:
	@packaging/deps -n build test
	$(Q)$(MAKE) --no-print-directory $(JOBS) -C selftests O=$(O) T=unit run_tests

##  coverage        which lines the tests of unit and tools reach: build-cov/coverage
COVERAGE_TARGETS ?= unit tools
coverage:
	@packaging/deps -n build test coverage
	$(Q)$(MAKE) --no-print-directory $(JOBS) COV=1 O=build-cov tools tests
	$(Q)find build-cov -name '*.gcda' -delete
	$(Q)EHS_BUILD=build-cov selftests/run $(COVERAGE_TARGETS)
	@mkdir -p build-cov/coverage
	$(Q)gcovr --root . --object-directory build-cov --filter '(agent|helpers|lib|tools)/' --print-summary \
		--html-details build-cov/coverage/index.html --txt build-cov/coverage/summary build-cov

##  clean           remove O
clean:
	rm -rf $(O)

#:  O=DIR           build into DIR (default build; build-san with SAN=1, build-cov with COV=1)
#:  V=1             show commands
#:  SAN=1           with AddressSanitizer and UndefinedBehaviorSanitizer
#:  COV=1           with counters for gcov
#:  CC, MUSL_CC, PKG_CONFIG, CPPFLAGS, CFLAGS, STUB_CFLAGS, LDFLAGS, PREFIX, DESTDIR, KVER, KDIR
help:
	@echo 'make TARGET... [VARIABLE=VALUE...]'
	@sed -n 's/^##//p' $(filter-out %.d,$(MAKEFILE_LIST))
	@echo
	@sed -n 's/^#://p' $(filter-out %.d,$(MAKEFILE_LIST))
