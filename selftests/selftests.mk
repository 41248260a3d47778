# SPDX-License-Identifier: GPL-2.0-or-later
# Test programs (those of selftests/unit are picked up by name), fuzzers, lint, and checks that take longer than make check.

UNIT_SRC := $(wildcard selftests/unit/test_*.c)
UNIT	 := $(UNIT_SRC:%.c=$(O)/%)
HARNESS_SRC := $(filter-out $(UNIT_SRC),$(wildcard selftests/unit/*.c))
FUZZ_SRC := $(wildcard selftests/fuzz/fuzz_*.c)
FUZZ	 := $(FUZZ_SRC:%.c=$(O)/%)
REPLAY	 := $(FUZZ_SRC:selftests/fuzz/fuzz_%.c=$(O)/selftests/fuzz/replay_%) $(O)/selftests/fuzz/replay_must
PROBES	 := $(addprefix $(O)/selftests/,cluster/probe conformance/probe)
FUZZ_SECONDS ?= 20
FUZZ_CC	 ?= clang

.PHONY: tests unit-tests replay fuzz fuzz-cc fuzz-netlink kmod-tests
##  tests           the test programs
tests: unit-tests kmod-tests $(PROBES) replay
# What tools/09-corpus.sh runs.
replay: $(REPLAY)
# Without kernel headers: a package's build runs them.
unit-tests: $(UNIT)

# The programs of selftests/kmod. Static: they are started thousands of times, and in an exec of them nothing else fails.
kmod-tests: $(addprefix $(O)/selftests/kmod/,nl probe stub two-nodes silent-fuse ynl/cli.py bad/ehsched.ko) $(O)/selftests/fuzz/netlink/fuzz $(O)/kunit/ehsched_test.ko
$(O)/selftests/kmod/%: selftests/kmod/%.c
	@mkdir -p $(@D)
	$(call say,CCLD,$@)
	$(Q)$(CC) $(BASE) -O1 -static -pthread -Wl,--no-warnings -o $@ $(filter %.c,$^) $(KMOD_TEST_LIBS)
$(O)/selftests/kmod/nl: $(addprefix selftests/kmod/,agent.c flood.c holder.c show.c wait.c nl.h) uapi/linux/ehsched.h
$(O)/selftests/kmod/nl: KMOD_TEST_LIBS = $(shell $(PKG_CONFIG) --static --cflags --libs libnl-genl-3.0)
$(O)/selftests/kmod/probe: $(addprefix selftests/kmod/,confine.c crowd.c probe.h)

# The kernel's ynl client, of the kernel whose tool generates (uapi/generate): a copy, which guests find without the cache.
$(O)/selftests/kmod/ynl/cli.py: selftests/vm/linux-source
	$(call say,GEN,$@)
	$(Q)rm -rf $(@D) && mkdir -p $(@D) && source=$$(selftests/vm/linux-source -k 7.2 tools/net/ynl) && \
		cp -r $$source/tools/net/ynl/pyynl/. $(@D) && touch $@

# What is executed away, and says what it finds there.
$(PROBES): $(O)/%: %.c
	@mkdir -p $(@D)
	$(call say,CCLD,$@)
	$(Q)$(CC) $(BASE) -O1 -o $@ $<

# The module with a table of bad kernels that has all.
$(O)/selftests/kmod/bad/ehsched.ko: $(wildcard kmod/*.[ch] kmod/compat/*) kmod/Kbuild uapi/linux/ehsched.h
	@mkdir -p $(@D)
	$(Q)+$(MAKE) -s --no-print-directory -f kmod/module.mk O=$(@D) KVER=$(KVER) KDIR=$(KDIR) KCFLAGS=-DEHS_BAD_TEST module
	@touch $@

# KUnit and its tests, for the guest kernel that has no KUnit.
$(O)/kunit/ehsched_test.ko: $(wildcard kmod/*.[ch] kmod/compat/*) uapi/linux/ehsched.h $(wildcard selftests/kmod/kunit/*)
	selftests/kmod/kunit/build $(O) $(KDIR)
	@touch $@

# As archives, of which a test takes what it needs.
$(O)/libagent.a: $(filter-out $(O)/agent/main.o,$(call objects,$(AGENT_SRC)))
$(O)/libharness.a: $(call objects,$(HARNESS_SRC))

# What the two ends look at files with.
$(O)/selftests/unit/test_named: $(O)/helpers/end/names.o

# What waits for input.
$(O)/selftests/unit/test_input: $(addprefix $(O)/helpers/ehguest/,input.o input_call.o walk.o) $(addprefix $(O)/helpers/end/,calls.o text.o)

# What the links between hosts cost.
$(O)/selftests/unit/test_links: $(O)/tools/ehplan/links.o

# Which process an end takes for the agent.
$(O)/selftests/unit/test_hop: WRAP = $(O)/libeh.a
$(O)/selftests/unit/test_hop: $(addprefix $(O)/helpers/end/,hop.o open.o spare.o)

# Their certificates.
$(patsubst %.c,$(O)/%,$(shell grep -l '"two_agents.h"' $(UNIT_SRC))): | $(addprefix $(O)/bin/,ehctl ehcert)

# Home's side of a view.
$(O)/selftests/unit/test_kept: WRAP = $(O)/libeh.a
$(O)/selftests/unit/test_kept: $(O)/helpers/common/stream.o | $(addprefix $(O)/bin/,ehlaunch ehfiles)

# These start home's end of a job.
$(patsubst %.c,$(O)/%,$(shell grep -l '"stub_home.h"' $(UNIT_SRC))): | $(O)/bin/ehstub

# It counts the signatures that are checked.
$(O)/selftests/unit/test_parts: WRAP = -Wl,--wrap=sign_check

# job/route.c has a stream that they play.
$(patsubst %.c,$(O)/%,$(shell grep -l '"route_both.h"' $(UNIT_SRC))): WRAP = -Wl,--wrap=evbuffer_write $(addprefix \
	-Wl$(comma)--wrap=h2_stream_,consume resume keep unkeep abort accept)

# Allocations go through the wrappers of a test that has them.
$(patsubst %.c,$(O)/%,$(shell grep -l '"oom.h"' $(UNIT_SRC))): WRAP = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

$(O)/selftests/unit/%: $(O)/selftests/unit/%.o $(O)/libharness.a $(O)/libagent.a $(O)/libplan.a $(O)/libsim.a $(O)/libeh.a
	$(call say,LD,$@)
	$(Q)$(call link,$(WRAP) $(PKG_LIBS) $(PLAN_LIBS) -lcmocka)
.SECONDARY: $(UNIT:%=%.o)

# What ehlaunch decides by itself.
$(O)/selftests/unit/test_launch: $(call objects,$(addprefix helpers/ehlaunch/,limits.c rules.c) helpers/common/names.c lib/site/who.c lib/site/map.c)
$(O)/selftests/unit/test_origin: $(call objects,$(addprefix helpers/ehlaunch/,caller.c cgroup.c folder.c limits.c origin.c request.c) $(addprefix helpers/common/,names.c pidfd.c))
$(O)/selftests/unit/test_confined: $(call objects,$(addprefix helpers/ehlaunch/,caller.c cgroup.c confined.c folder.c limits.c origin.c request.c) $(addprefix helpers/common/,names.c pidfd.c))

# What Prometheus is told.
$(O)/selftests/unit/test_exposition: $(O)/tools/ehmetrics/exposition.o

# Those that start the executor's end of a job.
$(patsubst %.c,$(O)/%,$(shell grep -l '"guest_home.h"' $(UNIT_SRC))): $(O)/bin/ehlaunch
# What these start. An agent looks for them beside its own program, which is the test.
$(O)/selftests/unit/ehl%: | $(O)/bin/ehl%
	@mkdir -p $(@D)
	$(Q)ln -sf ../../bin/$(@F) $@
$(O)/selftests/unit/test_claim: | $(addprefix $(O)/selftests/unit/,ehlaunch ehlook)

# Compiled again, for the sanitizers see only what they have instrumented.
FUZZ_FLAGS := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined

$(O)/fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(call say,FUZZ_CC,$@)
	$(Q)$(FUZZ_CC) $(BASE) $(PKG_CFLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

$(O)/fuzz/libfuzz.a: $(patsubst %.c,$(O)/fuzz/%.o,$(LIB_SRC) $(SIM_SRC) $(PLAN_SRC) $(filter-out agent/main.c,$(AGENT_SRC)))

# What most targets read their input with.
INPUT_SRC := $(addprefix selftests/fuzz/,input.c link_input.c)
$(O)/fuzz/libinput.a: $(INPUT_SRC:%.c=$(O)/fuzz/%.o)
$(O)/selftests/fuzz/libinput.a: $(call objects,$(INPUT_SRC))

$(O)/selftests/fuzz/fuzz_%: $(O)/fuzz/selftests/fuzz/fuzz_%.o $(O)/fuzz/libinput.a $(O)/fuzz/libfuzz.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer -Wl,--as-needed -o $@ $(filter %.o,$^) \
		-Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(PKG_LIBS) $(PLAN_LIBS) $(FUZZ_LIBS)
.SECONDARY: $(FUZZ_SRC:%.c=$(O)/fuzz/%.o)

# A whole agent, and a world that is an input.
$(addprefix $(O)/selftests/fuzz/fuzz_,local peer kernel): $(addprefix $(O)/fuzz/selftests/fuzz/one_,agent.o host.o launcher.o kernel.o)
# Helpers, without what has their main().
$(O)/fuzz/liblaunch.a: $(patsubst %.c,$(O)/fuzz/%.o,$(filter-out helpers/ehlaunch/main.c,$(LAUNCH_SRC)))
$(O)/fuzz/libfiles.a: $(patsubst %.c,$(O)/fuzz/%.o,$(filter-out helpers/ehfiles/main.c,$(FILES_SRC)))
$(addprefix $(O)/selftests/fuzz/fuzz_,launch hop): $(O)/fuzz/liblaunch.a
$(O)/selftests/fuzz/fuzz_home: $(O)/fuzz/libfiles.a
$(O)/selftests/fuzz/fuzz_trace: $(addprefix $(O)/fuzz/,selftests/fuzz/refuse.o tools/ehsim/trace.o tools/ehsim/value.o tools/common/parse.o)
# Of programs, what reads; the target has what is around it.
fuzz_build = selftests/fuzz/refuse.o $(addprefix tools/ehplan/,build_make.o build_ninja.o build_walk.o workflow.o)
fuzz_workflow = selftests/fuzz/refuse.o $(addprefix tools/ehplan/,workflow.o journal.o durations.o)
fuzz_tree = selftests/unit/tree_look.o
fuzz_history = $(addprefix helpers/ehhist/,query.o store.o)
fuzz_view = $(addprefix helpers/ehview/,call.o data.o look.o names.o node.o owner.o tree.o)
fuzz_http = $(addprefix tools/ehmetrics/,api.o events.o exposition.o http.o key.o look.o page.o stream.o) $(COMMON_SRC:.c=.o)
fuzz_replies = $(patsubst %.c,%.o,$(filter-out tools/ehctl/main.c,$(EHCTL_SRC)))
# Ends of jobs, without what asks this machine.
fuzz_end = selftests/fuzz/one_end.o $(patsubst %.c,%.o,$(filter-out helpers/end/calls.c helpers/common/agent_address.c,$(filter helpers/%,$(END_SRC))))
fuzz_stub = $(fuzz_end) $(patsubst %.c,%.o,$(filter-out %/main.c %/start.c %/readers.c,$(wildcard helpers/ehstub/*.c)))
fuzz_guest = $(fuzz_end) $(patsubst %.c,%.o,$(filter-out %/main.c %/program.c %/input.c %/input_call.c,$(wildcard helpers/ehguest/*.c)))
$(foreach name,build guest workflow history http replies stub tree view,$(eval $(O)/selftests/fuzz/fuzz_$(name): $(addprefix $(O)/fuzz/,$(fuzz_$(name)))))
$(foreach name,build guest workflow history http replies stub tree view,$(eval $(O)/selftests/fuzz/replay_$(name): $(addprefix $(O)/,$(fuzz_$(name)))))
$(addprefix $(O)/selftests/fuzz/,fuzz_history replay_history): FUZZ_LIBS = $(call once,SQLITE_LIBS,$(shell $(PKG_CONFIG) --libs sqlite3))
$(addprefix $(O)/selftests/fuzz/,fuzz_http replay_http fuzz_replies replay_replies): FUZZ_LIBS = -lsmartcols
$(O)/fuzz/tools/ehmetrics/page.o: $(wildcard tools/ehmetrics/page/*)

# The same targets with the inputs that are kept, in the build of all tests: so none stops to link unseen.
$(O)/selftests/fuzz/replay_%: $(O)/selftests/fuzz/fuzz_%.o $(O)/selftests/fuzz/replay.o $(O)/selftests/fuzz/libinput.a $(O)/libagent.a $(O)/libplan.a $(O)/libsim.a $(O)/libeh.a
	$(call say,LD,$@)
	$(Q)$(call link,$(filter %.a,$^) $(PKG_LIBS) $(PLAN_LIBS) $(FUZZ_LIBS))
$(O)/selftests/fuzz/replay_must: $(O)/selftests/fuzz/replay_must.o $(O)/selftests/fuzz/replay.o
	$(call say,LD,$@)
	$(Q)$(call link,)
.SECONDARY: $(FUZZ_SRC:%.c=$(O)/%.o)
$(addprefix $(O)/selftests/fuzz/replay_,local peer kernel): $(addprefix $(O)/selftests/fuzz/one_,agent.o host.o launcher.o kernel.o)
$(O)/selftests/fuzz/liblaunch.a: $(call objects,$(filter-out helpers/ehlaunch/main.c,$(LAUNCH_SRC)))
$(O)/selftests/fuzz/libfiles.a: $(call objects,$(filter-out helpers/ehfiles/main.c,$(FILES_SRC)))
$(addprefix $(O)/selftests/fuzz/replay_,launch hop): $(O)/selftests/fuzz/liblaunch.a
$(O)/selftests/fuzz/replay_home: $(O)/selftests/fuzz/libfiles.a
$(O)/selftests/fuzz/replay_trace: $(addprefix $(O)/,selftests/fuzz/refuse.o tools/ehsim/trace.o tools/ehsim/value.o tools/common/parse.o)

fuzz-cc:
	@command -v $(FUZZ_CC) >/dev/null || { echo "fuzz: $(FUZZ_CC) is missing: apt-get install clang" >&2; exit 1; }

# The hierarchy's stories with the module and 200 tasks in flight: 8 nodes on one level, then 64 on two in one guest of 4 GiB;
# about a quarter of an hour when it is emulated.
##  check-hierarchy 64 nodes on two levels, in one guest
.PHONY: check-hierarchy
check-hierarchy:
	@packaging/deps -n build module test
	$(Q)$(MAKE) --no-print-directory all tests
	EHS_BUILD=$(O) selftests/vm/cluster -v --netns 8 --topology 3,1 --append 'load-index = "tasks"' -- \
		$(CURDIR)/selftests/agent/700-hierarchy.py 3,1
	EHS_BUILD=$(O) selftests/vm/cluster -v --netns 64 --topology 3,2 --memory 4096 --timeout 1800 --append 'load-index = "tasks"' \
		--append 'heartbeat = 6000' -- $(CURDIR)/selftests/agent/700-hierarchy.py 3,2

# The kernel tests and the cluster's on each of Debian's kernels in KERNELS; about half an hour when it is emulated.
KERNELS ?= 6.1 6.12 7.2
##  check-kernels   the module on all kernels; KERNELS="6.1 6.12 7.2"
.PHONY: check-kernels
check-kernels:
	@packaging/deps -n build module test kernels
	$(Q)$(MAKE) --no-print-directory tools tests kmod-tests demo-reference build-references
	@EHS_BUILD=$(O) selftests/kernels $(KERNELS)

# The kernel tests with storms of full size: 64 namespaces, 200 loads of the module. KERNEL=debug: on that kernel, where every
# allocation fails in turn too. EHS_SEED=N repeats random choices; T="kmod/57" chooses.
KERNEL ?= 6.1
KERNEL_DEPS = $(if $(filter debug kcsan,$(KERNEL)),debug,$(if $(filter-out 6.1,$(KERNEL)),kernels))
##  check-stress    the kernel tests with storms of full size; T="kmod/57"
.PHONY: check-stress
check-stress:
	@packaging/deps -n build module test $(KERNEL_DEPS)
	$(Q)$(MAKE) --no-print-directory kmod-tests
	selftests/vm/module $(KERNEL) $(O)
	EHS_BUILD=$(O) EHS_KERNEL=$(KERNEL) EHS_LONG=1 EHS_TIMEOUT=3600 EHS_SEED=$(EHS_SEED) selftests/run $(or $(T),kmod)

# The kernel tests in which execs, agents and moves race, in a guest with SMP processors, emulated at the same time. More than
# the machine has: then one of them stands still anywhere, also with a lock. T="kmod/57" chooses, EHS_LONG=1 has storms of full size.
SMP ?= 8
##  check-smp       the kernel tests of races with eight processors; SMP=16
.PHONY: check-smp
check-smp:
	@packaging/deps -n build module test $(KERNEL_DEPS)
	$(Q)$(MAKE) --no-print-directory kmod-tests
	selftests/vm/module $(KERNEL) $(O)
	EHS_BUILD=$(O) EHS_KERNEL=$(KERNEL) EHS_SMP=$(SMP) selftests/run $(or $(T),kmod/46 kmod/55 kmod/57 kmod/85)

# What docs/security.md says of attacks, each by the test that selftests/attacks.list names: those against agents on this
# machine, those against the module (kmod/81 to 88) in a guest. With KERNEL=debug errors of memory and locks are looked for,
# too. ATTACKS="kmod agent/43" chooses.
ATTACKS ?=
##  check-attacks   each attack that docs/security.md names; KERNEL=debug, ATTACKS="kmod agent/43"
.PHONY: check-attacks
check-attacks:
	@packaging/deps -n build module test $(KERNEL_DEPS)
	$(Q)$(MAKE) --no-print-directory tools tests
	$(if $(or $(if $(ATTACKS),,all),$(findstring kmod,$(ATTACKS))),selftests/vm/module $(KERNEL) $(O))
	@EHS_BUILD=$(O) EHS_KERNEL=$(KERNEL) EHS_TIMEOUT=3600 EHS_SEED=$(EHS_SEED) selftests/attacks $(ATTACKS)

# Unit tests and agents with AddressSanitizer, UndefinedBehaviorSanitizer and LeakSanitizer, in a build of their own; an
# hour on a slow machine. SANITIZE="unit agent/44" chooses.
SANITIZE ?=
##  check-sanitize  tests with sanitizers, in build-san; SANITIZE="unit agent/44"
.PHONY: check-sanitize
check-sanitize:
	@packaging/deps -n build test
	$(Q)$(MAKE) --no-print-directory SAN=1 O=build-san tools $(UNIT_SRC:%.c=build-san/%)
	@EHS_BUILD=build-san selftests/sanitize $(SANITIZE)

# The same on kernels that look for errors of memory, locks and context (debug) and for data races (kcsan), which are built
# once, in about 15 minutes each; each must first show that it finds what it is for.
##  check-debug     the kernel tests on two debug kernels
.PHONY: check-debug
check-debug:
	@packaging/deps -n build module test debug
	$(Q)$(MAKE) --no-print-directory tools tests kmod-tests
	@set -e; for kernel in debug kcsan; do \
		dir=$$(selftests/vm/kernel $$kernel); \
		echo "check-debug: $$kernel: $$(cat $$dir/built)"; \
	done
	@EHS_BUILD=$(O) selftests/kernels debug kcsan

# Faults of all kinds while tasks run on eight nodes, agents that are restarted in turn, and agents that all stand still; an
# hour. The same SEED makes the same choices. docs/faults.md
FAULTS ?= 1000
SEED   ?=
TURNS  ?= 50
STILL  ?= 5
##  check-faults    FAULTS=1000 faults under load; SEED=N, TURNS=50 restarts of each agent, STILL=5 pauses of all
.PHONY: check-faults
check-faults:
	@packaging/deps -n build test
	$(Q)$(MAKE) --no-print-directory tools $(O)/selftests/unit/test_job_world
	EHS_BUILD=$(O) selftests/run unit/test_job_world faults/30 faults/40 faults/50 agent/641-lapse
	EHS_BUILD=$(O) EHS_SEED=$(SEED) selftests/faults/20-campaign.py --faults $(FAULTS) --turns $(TURNS) --still $(STILL)

# Half an hour.
TASKS ?= 20000
##  check-volume    tasks of all kinds, 16 at a time, beside two busy loops; TASKS=20000
.PHONY: check-volume
check-volume:
	@packaging/deps -n build test
	$(Q)$(MAKE) --no-print-directory tools
	EHS_BUILD=$(O) EHS_SEED=$(SEED) selftests/faults/60-volume.py --tasks $(TASKS)

# Each test program ROUNDS times beside two busy loops, those of guests a quarter as often; hours for all of them.
ROUNDS ?= 20
##  check-flakes    tests many times beside busy loops: which fail by chance; ROUNDS=20, T="agent/40 unit"
.PHONY: check-flakes
check-flakes:
	@packaging/deps -n build module test
	$(Q)$(MAKE) --no-print-directory $(JOBS) -C selftests O=$(O) T="$(T)" all
	@EHS_BUILD=$(O) selftests/flakes -n $(ROUNDS) $(T)

# All cases of the conformance suite, those of full length too, in both places; an hour when guests are emulated.
##  check-conformance
##                  all that docs/transparency.md promises
.PHONY: check-conformance
check-conformance:
	@packaging/deps -n build module test
	$(Q)$(MAKE) --no-print-directory all tests
	selftests/conformance/source zlib
	EHS_BUILD=$(O) selftests/conformance/10-cases.py --long
	EHS_BUILD=$(O) selftests/vm/cluster -v --nodes 3 --timeout 7200 -- $(CURDIR)/selftests/conformance/10-cases.py --long

# In clean systems, which are made on first use; EHS_DEBS=DIR takes packages that are there already. Half an hour.
SUITE ?= bookworm
##  check-packages  the Debian packages: built, installed, upgraded, removed, purged
.PHONY: check-packages
check-packages:
	@packaging/deps -n test kernels
	@EHS_BUILD=$(O) selftests/install/packages $(SUITE)

# Each built once, in the cache; then run here and away. SUITES="sed grep"; SUITES=all, more than an hour.
SUITES ?=
##  check-suites    test suites of other programs, here and away; SUITES="sed grep", SUITES=all, VIEW=home
.PHONY: check-suites
check-suites:
	@packaging/deps -n build test suites
	$(Q)$(MAKE) --no-print-directory tools
	@EHS_BUILD=$(O) selftests/suites/run $(if $(VIEW),--view $(VIEW)) $(SUITES)

# The previous version's programs, for tests of both versions; built once, in the cache. Where there is no history the tests
# say so.
.PHONY: previous
previous:
	@selftests/upgrade/build >/dev/null || [ $$? = 4 ]

##  check-upgrade   eight nodes, from the previous version to this one and back, under builds
.PHONY: check-upgrade
check-upgrade:
	@packaging/deps -n build test
	$(Q)$(MAKE) --no-print-directory tools previous
	@EHS_BUILD=$(O) selftests/run upgrade

# Pictures of it are in O/page.
##  check-page      the page of ehctl metrics, in a browser without a screen
.PHONY: check-page
check-page:
	@packaging/deps -n build page
	$(Q)$(MAKE) --no-print-directory tools
	@EHS_BUILD=$(O) selftests/run page

# New inputs stay in the build directory; those worth keeping are added to the corpus by hand. FUZZ_RUNS=N: that many inputs
# for each, whatever the time. FUZZ_TARGETS="peer local" chooses.
FUZZ_TARGETS ?= $(FUZZ_SRC:selftests/fuzz/fuzz_%.c=%)
FUZZ_LIMIT = $(if $(FUZZ_RUNS),-runs=$(FUZZ_RUNS),-max_total_time=$(FUZZ_SECONDS))
##  fuzz            each parser with libFuzzer; FUZZ_SECONDS=20 for each, or FUZZ_RUNS=10000000; FUZZ_TARGETS="peer local"
fuzz: fuzz-cc $(addprefix $(O)/selftests/fuzz/fuzz_,$(FUZZ_TARGETS))
	@for name in $(FUZZ_TARGETS); do \
		found=$(O)/selftests/fuzz/found/$$name; \
		mkdir -p $$found; \
		echo "fuzz: $$name for $(if $(FUZZ_RUNS),$(FUZZ_RUNS) inputs,$(FUZZ_SECONDS) s)"; \
		$(O)/selftests/fuzz/fuzz_$$name $(FUZZ_LIMIT) -verbosity=0 -print_final_stats=1 -max_len=4096 \
			$$(ls selftests/fuzz/$$name.dict 2>/dev/null | sed s/^/-dict=/) -artifact_prefix=$$found- \
			$$found $$(ls -d selftests/fuzz/corpus/$$name 2>/dev/null) || exit 1; \
	done

# What the demo's build is compared with.
.PHONY: demo-reference
demo-reference:
	$(call say,DEMO,$(O)/demo)
	$(Q)selftests/demo/prepare $(O)/demo

# What cluster/15-idle.py builds. The sources are fetched on first use; where that cannot be the test says so.
.PHONY: build-references
build-references:
	$(call say,BUILDS,$(O)/builds)
	$(Q)selftests/cluster/builds $(O)/builds

# The netlink fuzzer's grammar is the specification.
$(O)/selftests/fuzz/netlink/grammar.c: selftests/fuzz/netlink/grammar.py selftests/kmod/spec.py uapi/ehsched.yaml
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)/usr/bin/python3 $< c uapi/ehsched.yaml >$@

$(O)/selftests/fuzz/netlink/grammar.o: $(O)/selftests/fuzz/netlink/grammar.c
	$(call say,CC,$@)
	$(Q)$(call compile,) -Iselftests/fuzz/netlink -c -o $@ $<

$(O)/selftests/fuzz/netlink/fuzz: $(call objects,$(wildcard selftests/fuzz/netlink/*.c)) $(O)/selftests/fuzz/netlink/grammar.o
	$(call say,LD,$@)
	$(Q)$(call link,$(shell $(PKG_CONFIG) --libs libnl-genl-3.0))

# The description for syzkaller, kept where it is found; a test compares.
selftests/fuzz/ehsched.txt: selftests/fuzz/netlink/grammar.py selftests/kmod/spec.py uapi/ehsched.yaml
	$(call say,GEN,$@)
	$(Q)/usr/bin/python3 $< syzkaller uapi/ehsched.yaml >$@

# KERNEL=debug FUZZ_SECONDS=600 EHS_SEED=N to choose; selftests/fuzz/netlink/README.md
##  fuzz-netlink    the netlink family, in a guest; KERNEL=debug, FUZZ_SECONDS=600
fuzz-netlink: FUZZ_SECONDS = 600
fuzz-netlink:
	@packaging/deps -n build module test $(KERNEL_DEPS)
	$(Q)$(MAKE) --no-print-directory kmod-tests
	selftests/vm/module $(KERNEL) $(O) $(if $(filter debug kcsan,$(KERNEL)),KCFLAGS=-g)
	O=$(O) KERNEL=$(KERNEL) FUZZ_SECONDS=$(FUZZ_SECONDS) selftests/fuzz/netlink/run

# What only takes seconds needs neither the libraries nor the kernel's headers.
LINT_LONG = $(filter-out quick layers calls format codespell shellcheck,$(or $(PARTS),all))
##  lint            what checkpatch, sparse, clang-tidy and others find; PARTS="layers codespell"; PARTS=quick for seconds
.PHONY: lint
lint:
	@packaging/deps -n $(if $(LINT_LONG),lint,quick)
	@EHS_BUILD=$(O) $(if $(LINT_LONG),EHS_CFLAGS="$(BASE) $(CFLAGS_agent/main) $(PKG_CFLAGS)") selftests/lint/run $(PARTS)
