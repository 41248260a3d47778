// SPDX-License-Identifier: GPL-2.0-only
/* How much the processors of the host worked since the last look. */

#include "busy.h"

#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/kernel_stat.h>
#include <linux/ktime.h>
#include <linux/percpu.h>

#include "load_math.h"
#include "seen.h"

/**
 * struct ehs_busy_cpu - a processor at the last look that saw it
 * @look: number of that look; 0 for none
 * @busy: time it has worked since boot, ns
 */
struct ehs_busy_cpu {
	u64 look;
	u64 busy;
};

/* Only the sampler of cpu looks, one look after the other. */
static DEFINE_PER_CPU(struct ehs_busy_cpu, ehs_busy_cpus);
static u64 ehs_busy_look;
static u64 ehs_busy_at;

/* The fetch knows what a processor without ticks (NO_HZ_FULL) has not yet written down. */
static u64 ehs_busy_of(int cpu)
{
	struct kernel_cpustat stat;

	/* that processor may be writing it: words, of which each is old or new */
	data_race(({
		kcpustat_cpu_fetch(&stat, cpu);
		0;
	}));
	return stat.cpustat[CPUTIME_USER] + stat.cpustat[CPUTIME_NICE] +
	       stat.cpustat[CPUTIME_SYSTEM] + stat.cpustat[CPUTIME_IRQ] +
	       stat.cpustat[CPUTIME_SOFTIRQ];
}

/**
 * ehs_busy - how much the processors worked since the last call
 * @seen: zeroed; load, nanoseconds worked, and what it took
 *
 * A processor that was not online at the last look begins at its present value,
 * so that it does not bring its past along. One that went offline since then is
 * missing, with what it did since then.
 */
void ehs_busy(struct ehs_seen *seen)
{
	u64 now = ktime_get_ns(), elapsed = now - ehs_busy_at, busy;
	struct ehs_busy_cpu *last;
	unsigned int cpus = 0;
	int cpu;

	for_each_online_cpu(cpu) {
		busy = ehs_busy_of(cpu);
		last = per_cpu_ptr(&ehs_busy_cpus, cpu);
		if (last->look && last->look == ehs_busy_look)
			seen->counted += ehs_load_worked(last->busy, busy);
		last->look = ehs_busy_look + 1;
		last->busy = busy;
		cpus++;
	}
	ehs_busy_look++;
	ehs_busy_at = now;
	seen->threads = cpus;
	seen->load = ehs_load_busy(seen->counted, elapsed, cpus);
	seen->whole = true;
	seen->cost = ktime_get_ns() - now;
}
