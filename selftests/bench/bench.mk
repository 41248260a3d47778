# SPDX-License-Identifier: GPL-2.0-or-later
BENCH := $(addprefix $(O)/selftests/bench/,spawn stream manage follow netns spin probe true crowd)

$(O)/selftests/bench/spawn $(O)/selftests/bench/netns $(O)/selftests/bench/spin: $(O)/selftests/bench/%: selftests/bench/%.c
	@mkdir -p $(@D)
	$(call say,CCLD,$@)
	$(Q)$(CC) $(BASE) $(CFLAGS) -o $@ $<

$(O)/selftests/bench/stream: selftests/bench/stream.c
	@mkdir -p $(@D)
	$(call say,CCLD,$@)
	$(Q)$(CC) $(BASE) $(PKG_CFLAGS) $(CFLAGS) -o $@ $< $(shell $(PKG_CONFIG) --libs libssl libcrypto)

$(O)/selftests/bench/manage $(O)/selftests/bench/follow: $(O)/selftests/bench/%: selftests/bench/%.c
	@mkdir -p $(@D)
	$(call say,CCLD,$@)
	$(Q)$(CC) $(BASE) $(PKG_CFLAGS) $(CFLAGS) -o $@ $< $(shell $(PKG_CONFIG) --libs libnl-genl-3.0)

# Static: in an emulated guest loading libraries costs more than what is measured.
$(O)/selftests/bench/probe: selftests/cluster/probe.c
	@mkdir -p $(@D)
	$(call say,CCLD,$@)
	$(Q)$(MUSL_CC) $(BASE) -Os -static -o $@ $<

$(O)/selftests/bench/true $(O)/selftests/bench/crowd: $(O)/selftests/bench/%: selftests/bench/%.c
	@mkdir -p $(@D)
	$(call say,CCLD,$@)
	$(Q)$(MUSL_CC) $(BASE) -Os -static -o $@ $<

# Only where SimGrid is.
$(O)/selftests/bench/judge: selftests/bench/judge.c
	@mkdir -p $(@D)
	$(call say,CCLD,$@)
	$(Q)$(CC) $(BASE) $(CFLAGS) -o $@ $< $(shell $(PKG_CONFIG) --cflags --libs simgrid)

# Those of the module alone are measured in the guest of the tests.
BENCH_DEPS = $(if $(filter-out exec-cost exec-many kmod,$(or $(BENCH_PARTS),all)),bench,test)
##  bench           figures as ratios; BENCH_PARTS="exec-cost exec-many kmod cluster makespan placed native idle jobserver learn never tasks sim load messages plan live divide gang assign"
bench:
	@packaging/deps -n build module $(BENCH_DEPS)
	$(Q)$(MAKE) --no-print-directory all $(BENCH) $$($(PKG_CONFIG) --exists simgrid && echo $(O)/selftests/bench/judge)
	selftests/bench/run $(O) $(BENCH_PARTS)

# Figures are kept in O/peers.json. PEERS_ROUNDS=N PEERS_ONLY="srun ehsched_idle" choose less.
##  bench-peers     beside Slurm, GNU parallel over ssh, icecc and distcc, on three half cores; PEERS_ROUNDS=5
.PHONY: bench-peers
bench-peers:
	@packaging/deps -n build peers
	$(Q)$(MAKE) --no-print-directory tools $(addprefix $(O)/selftests/bench/,spawn probe)
	selftests/bench/peers $(O) $(PEERS_ROUNDS) >$(O)/peers.json.new || { rm $(O)/peers.json.new; exit 1; }
	mv $(O)/peers.json.new $(O)/peers.json
