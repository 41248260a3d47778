# SPDX-License-Identifier: GPL-2.0-or-later
# make [all] | tools | module | check [T=TEST] | check-unit | lint | demo | bench | install | clean
# O=DIR puts everything that is built into DIR (default build).

O	?= build
CC	?= gcc
MUSL_CC	?= musl-gcc
CFLAGS	?= -O2 -g
PREFIX	?= /usr
DESTDIR	?=

PKGS	:= libnl-3.0 libnl-genl-3.0 libevent libevent_openssl libssl libcrypto libnghttp2 jansson libconfuse libxxhash
PLAN_LIBS := -ljansson -lglpk -lmetis -lexpat -lm
WARN	:= -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter
BASE	:= -std=gnu11 -D_GNU_SOURCE $(WARN) -Iuapi -Ilib -Iagent -I.
# Asked once, and not before packaging/deps has had its chance to install the packages.
PKG_CFLAGS = $(eval PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS)))$(PKG_CFLAGS)
PKG_LIBS = $(eval PKG_LIBS := $(shell pkg-config --libs $(PKGS)) -lpthread)$(PKG_LIBS)

.DELETE_ON_ERROR:
.PHONY: all tools module check check-unit demo bench install clean

all: tools module
tools: $(addprefix $(O)/bin/,ehagent ehctl ehplan ehsim ehstub ehview ehfiles)

LIB_SRC	  := $(wildcard lib/eh/*.c lib/wire/*.c lib/cluster/*.c)
SIM_SRC	  := $(wildcard lib/sim/*.c)
PLAN_SRC  := $(wildcard lib/plan/*.c lib/plan/*/*.c)
COMPANION := helpers/common/companion.c
COMMON_SRC := $(wildcard tools/common/*.c) $(COMPANION)
AGENT_SRC := $(wildcard agent/*.c agent/*/*.c) $(COMPANION)
EHCTL_SRC := $(wildcard tools/ehctl/*.c) $(COMMON_SRC)
EHPLAN_SRC := $(wildcard tools/ehplan/*.c) $(COMMON_SRC)
EHSIM_SRC := $(wildcard tools/ehsim/*.c) $(COMMON_SRC)
VIEW_SRC  := $(wildcard helpers/ehview/*.c) helpers/common/stream.c
FILES_SRC := $(wildcard helpers/ehfiles/*.c) helpers/common/stream.c
STUB_SRC  := $(wildcard helpers/ehstub/*.c) $(addprefix lib/wire/,files.c frame.c job.c terminal.c view.c)

objects	= $(patsubst %.c,$(O)/%.o,$(1))

$(O)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(PKG_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(O)/libeh.a: $(call objects,$(LIB_SRC))
	@rm -f $@
	$(AR) rcs $@ $^

$(O)/libsim.a: $(call objects,$(SIM_SRC))
	@rm -f $@
	$(AR) rcs $@ $^

$(O)/bin/ehagent: $(call objects,$(AGENT_SRC)) $(O)/libeh.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(PKG_LIBS)

# Only what it uses: loading libraries is most of the time ehctl exec takes here.
$(O)/bin/ehctl: LDFLAGS += -Wl,--as-needed
$(O)/bin/ehctl: $(call objects,$(EHCTL_SRC)) $(O)/libeh.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(O)/libplan.a: $(call objects,$(PLAN_SRC))
	@rm -f $@
	$(AR) rcs $@ $^

# A program beside ehctl, which starts it: nothing else has to load these libraries.
$(O)/bin/ehplan: $(call objects,$(EHPLAN_SRC)) $(O)/libplan.a $(O)/libeh.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(PLAN_LIBS)

# Likewise: it needs the math library, and a start of ehctl should not load more than it uses.
$(O)/bin/ehsim: $(call objects,$(EHSIM_SRC)) $(O)/libsim.a $(O)/libeh.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ -ljansson -lm

# The two sides of a view.
$(O)/helpers/ehview/%.o: CFLAGS += $(shell pkg-config --cflags fuse3)

$(O)/bin/ehview: $(call objects,$(VIEW_SRC)) $(O)/libeh.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(shell pkg-config --libs fuse3 libevent_core)

$(O)/bin/ehfiles: $(call objects,$(FILES_SRC)) $(O)/libeh.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(shell pkg-config --libs libevent_core)

# Static and without glibc: it stands in memory once for every task that is away.
$(O)/stub/%.o: %.c
	@mkdir -p $(@D)
	$(MUSL_CC) $(BASE) -Os -g -MMD -MP -c -o $@ $<

$(O)/bin/ehstub: $(patsubst %.c,$(O)/stub/%.o,$(STUB_SRC))
	@mkdir -p $(@D)
	$(MUSL_CC) -static -o $@ $^

-include kmod/module.mk selftests/selftests.mk selftests/bench/bench.mk packaging/install.mk
-include $(shell find $(O) -name '*.d' 2>/dev/null)

clean:
	rm -rf $(O)

# A new machine has only gcc and make: these two install what they need first, and build with all processors
# unless they were told how many.
JOBS = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

demo:
	packaging/deps build module test
	$(MAKE) --no-print-directory $(JOBS) all
	selftests/demo/run $(O)

# T="kmod/40 unit": only these directories, or tests whose names begin so.
check:
	packaging/deps build module test
	$(MAKE) --no-print-directory $(JOBS) -C selftests O=$(O) T="$(T)" run_tests

check-unit:
	packaging/deps build test
	$(MAKE) --no-print-directory $(JOBS) -C selftests O=$(O) T=unit run_tests
