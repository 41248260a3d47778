/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_ACCOUNT_H
#define _EHS_ACCOUNT_H

#include <linux/sched/signal.h>
#include <linux/types.h>

struct ehs_node;
struct netlink_ext_ack;
struct pid;

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

/*
 * Adds to the waited-for children of @sig, whose stats_lock is held for writing.
 * The sums are not checked: whoever may call TASK_ACCOUNT can make them wrap.
 */
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

int ehs_account(struct ehs_node *node, struct pid *pid, const struct ehs_usage *usage,
		struct netlink_ext_ack *extack);

#endif /* _EHS_ACCOUNT_H */
