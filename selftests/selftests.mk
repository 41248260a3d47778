# SPDX-License-Identifier: GPL-2.0-or-later
# tests: the programs of selftests/unit (cmocka), picked up by name; fuzz: each parser's libFuzzer target for a short time;
# lint: what checkers of kernel and user space find.

UNIT_SRC := $(wildcard selftests/unit/test_*.c)
UNIT	 := $(UNIT_SRC:%.c=$(O)/%)
FUZZ_SRC := $(wildcard selftests/fuzz/fuzz_*.c)
FUZZ	 := $(FUZZ_SRC:%.c=$(O)/%)
FUZZ_SECONDS ?= 20
FUZZ_CC	 ?= clang

.PHONY: tests fuzz fuzz-cc
tests: $(UNIT)

# As an archive, of which a test takes what it needs.
$(O)/libagent.a: $(filter-out $(O)/agent/main.o,$(call objects,$(AGENT_SRC)))
	@rm -f $@
	$(AR) rcs $@ $^

# Allocations go through the wrappers of a test that has them.
$(O)/selftests/unit/test_oom: WRAP = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
$(O)/selftests/unit/test_named: WRAP = -Wl,--wrap=realloc

$(O)/selftests/unit/%: $(O)/selftests/unit/%.o $(O)/libagent.a $(O)/libeh.a
	$(CC) $(CFLAGS) $(LDFLAGS) $(WRAP) -Wl,--as-needed -o $@ $^ $(PKG_LIBS) -lcmocka
.SECONDARY: $(UNIT:%=%.o)

# Compiled anew, for the sanitizers see only what they have instrumented.
FUZZ_FLAGS := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined

$(O)/fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(BASE) $(PKG_CFLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

$(O)/fuzz/libfuzz.a: $(patsubst %.c,$(O)/fuzz/%.o,$(LIB_SRC) $(filter-out agent/main.c,$(AGENT_SRC)))
	@rm -f $@
	$(AR) rcs $@ $^

$(O)/selftests/fuzz/fuzz_%: $(O)/fuzz/selftests/fuzz/fuzz_%.o $(O)/fuzz/libfuzz.a
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer -Wl,--as-needed -o $@ $^ $(PKG_LIBS)
.SECONDARY: $(FUZZ_SRC:%.c=$(O)/fuzz/%.o)

fuzz-cc:
	@command -v $(FUZZ_CC) >/dev/null || { echo "fuzz: $(FUZZ_CC) is missing: apt-get install clang" >&2; exit 1; }

# The hierarchy's stories with the module and 200 tasks in flight: 8 nodes on one level, then 64 on two in one guest of 4 GiB;
# about a quarter of an hour when it is emulated.
.PHONY: check-hierarchy
check-hierarchy:
	packaging/deps build module test
	$(MAKE) --no-print-directory all tests
	EHS_BUILD=$(O) selftests/vm/cluster -v --netns 8 --topology 3,1 --append 'load-index = "tasks"' -- \
		$(CURDIR)/selftests/agent/70-hierarchy.t 3,1
	EHS_BUILD=$(O) selftests/vm/cluster -v --netns 64 --topology 3,2 --memory 4096 --timeout 1800 --append 'load-index = "tasks"' \
		--append 'heartbeat = 6000' -- $(CURDIR)/selftests/agent/70-hierarchy.t 3,2

# The kernel tests and the cluster's on each of Debian's kernels in KERNELS; about half an hour when it is emulated.
KERNELS ?= 6.1 6.12 7.2
.PHONY: check-kernels
check-kernels:
	packaging/deps build module test kernels
	$(MAKE) --no-print-directory tools
	@EHS_BUILD=$(O) selftests/kernels $(KERNELS)

# The same on kernels that look for errors of memory, locks and context (debug) and for data races (kcsan), which are built
# once, in about 15 minutes each; each must first show that it finds what it is for.
.PHONY: check-debug
check-debug:
	packaging/deps build module test debug
	$(MAKE) --no-print-directory tools
	@set -e; for kernel in debug kcsan; do \
		dir=$$(selftests/vm/kernel $$kernel); \
		echo "check-debug: $$kernel: $$(cat $$dir/built)"; \
	done
	@EHS_BUILD=$(O) selftests/kernels debug kcsan

# New inputs stay in the build folder; those worth keeping are added to the corpus by hand.
fuzz: fuzz-cc $(FUZZ)
	@for program in $(FUZZ); do \
		name=$${program##*/fuzz_}; \
		found=$(O)/selftests/fuzz/found/$$name; \
		mkdir -p $$found; \
		echo "fuzz: $$name for $(FUZZ_SECONDS) s"; \
		$$program -max_total_time=$(FUZZ_SECONDS) -verbosity=0 -artifact_prefix=$$found- \
			$$found $$(ls -d selftests/fuzz/corpus/$$name 2>/dev/null) || exit 1; \
	done

.PHONY: lint
lint:
	packaging/deps lint
	@EHS_BUILD=$(O) EHS_CFLAGS="$(BASE) $(PKG_CFLAGS)" selftests/lint/run
