/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel versions, with one name for each. Kbuild.include
 * finds out which form this kernel has; no other file has an #if for it.
 */
#ifndef _EHS_COMPAT_H
#define _EHS_COMPAT_H

struct task_struct;

/* Parameters of a probe on sched_process_exit. */
#ifdef EHS_HAVE_EXIT_GROUP_DEAD
#define ehs_exit_probe_args(data, task) void *data, struct task_struct *task, bool group_dead
#else
#define ehs_exit_probe_args(data, task) void *data, struct task_struct *task
#endif

/* Since 6.10 __assign_str() takes the source from __string(). */
#ifdef EHS_HAVE_ASSIGN_STR_1
#define ehs_assign_str(dst, src) __assign_str(dst)
#else
#define ehs_assign_str(dst, src) __assign_str(dst, src)
#endif

#endif /* _EHS_COMPAT_H */
