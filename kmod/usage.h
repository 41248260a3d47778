/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a task has used, and whether it can have. Nothing here has a lock or a
 * clock, so that account_test.c can call it.
 */
#ifndef _EHS_USAGE_H
#define _EHS_USAGE_H

#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/types.h>

/**
 * struct ehs_usage - what a task and its children have used on another node
 * @utime: time in user space, ns
 * @stime: time in the kernel, ns
 * @maxrss: largest resident set of the task or one of its children, KiB
 * @min_flt: page faults without I/O
 * @maj_flt: page faults with I/O
 * @nvcsw: voluntary context switches
 * @nivcsw: involuntary context switches
 */
struct ehs_usage {
	u64 utime, stime;
	u64 maxrss;
	u64 min_flt, maj_flt;
	u64 nvcsw, nivcsw;
};

/* The kernel keeps resident sets in pages. */
#define EHS_USAGE_KIB_SHIFT (PAGE_SHIFT - 10)
/* All pages of an address space. */
#define EHS_USAGE_PAGES (ULONG_MAX >> PAGE_SHIFT)

/* More processors than a node that takes tasks will have. */
#define EHS_USAGE_CPUS 8192ULL

/**
 * ehs_usage_is_possible - whether a task can have used so much
 * @usage: what it is said to have used
 * @lived_ns: how long ago its exec was, ns
 * @before: what was accounted for it before: processor time in utime, and all
 *	its faults and switches in min_flt; @usage is added if it is possible
 *
 * All its threads together have at most the lifetime on each processor. Events
 * (faults and switches) are bounded in the same way, by one each nanosecond, so
 * that none of the kernel's sums can wrap within the life of a machine.
 */
static inline bool ehs_usage_is_possible(const struct ehs_usage *usage, u64 lived_ns,
					 struct ehs_usage *before)
{
	u64 most, time, events;

	if (check_mul_overflow(lived_ns, EHS_USAGE_CPUS, &most))
		most = U64_MAX;
	if (check_add_overflow(usage->utime, usage->stime, &time) ||
	    check_add_overflow(time, before->utime, &time) ||
	    check_add_overflow(usage->min_flt, usage->maj_flt, &events) ||
	    check_add_overflow(events, usage->nvcsw, &events) ||
	    check_add_overflow(events, usage->nivcsw, &events) ||
	    check_add_overflow(events, before->min_flt, &events))
		return false;
	if (time > most || events > most || usage->maxrss >> EHS_USAGE_KIB_SHIFT > EHS_USAGE_PAGES)
		return false;
	before->utime = time;
	before->min_flt = events;
	return true;
}

/* Adds to the waited-for children of @sig, whose stats_lock is held for writing. */
static inline void ehs_usage_add(struct signal_struct *sig, const struct ehs_usage *usage)
{
	unsigned long maxrss = usage->maxrss >> EHS_USAGE_KIB_SHIFT;

	sig->cutime += usage->utime;
	sig->cstime += usage->stime;
	sig->cmin_flt += usage->min_flt;
	sig->cmaj_flt += usage->maj_flt;
	sig->cnvcsw += usage->nvcsw;
	sig->cnivcsw += usage->nivcsw;
	if (sig->cmaxrss < maxrss)
		sig->cmaxrss = maxrss;
}

#endif /* _EHS_USAGE_H */
