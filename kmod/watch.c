// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens to recorded tasks outside of exec: they exit, and they are moved
 * to another cgroup. The kernel tells modules of neither but by tracepoints.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "watch.h"

#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <trace/events/cgroup.h>
#include <trace/events/sched.h>

#include "compat/compat.h"
#include "leave.h"
#include "task.h"

/*
 * Runs in every exit on the host. Up to 6.12 it runs with preemption off, so
 * that even on PREEMPT_RT it takes raw spinlocks only. The last two threads of a
 * group may both see that no other is left; the second then finds no record.
 */
static void ehs_watch_exit_of(ehs_exit_probe_args(data, exiting))
{
	if (ehs_task_any() && !atomic_read(&exiting->signal->live))
		ehs_task_remove_group(task_tgid(exiting), NULL);
}

/*
 * Runs in every move of a task to a cgroup, after it was moved, under a spinlock
 * of cgroups with interrupts off. That lock may be taken in a softirq as well, so
 * no lock of ours is taken under it. Of a single thread that is moved, only the
 * leader counts: a group is where its leader is.
 */
static void ehs_watch_move(void *data, struct cgroup *to, const char *path,
			   struct task_struct *task, bool whole_group)
{
	if (ehs_task_any() && (whole_group || thread_group_leader(task)))
		ehs_leave_moved(task_tgid(task));
}

static struct ehs_watch {
	const char *name;
	void *probe;
	struct tracepoint *point;
} ehs_watches[] = {
	{ "sched_process_exit", ehs_watch_exit_of },
	{ "cgroup_attach_task", ehs_watch_move },
};

/* The tracepoints' symbols are not exported, but all are listed. */
static void ehs_watch_pick(struct tracepoint *point, void *data)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ehs_watches); i++) {
		if (!strcmp(point->name, ehs_watches[i].name))
			ehs_watches[i].point = point;
	}
}

static void ehs_watch_stop(size_t n)
{
	while (n--)
		tracepoint_probe_unregister(ehs_watches[n].point, ehs_watches[n].probe, NULL);
	tracepoint_synchronize_unregister();
}

int __init ehs_watch_init(void)
{
	size_t n;
	int err;

	/* a probe is registered as void *: its arguments are checked only here */
	check_trace_callback_type_sched_process_exit(ehs_watch_exit_of);
	check_trace_callback_type_cgroup_attach_task(ehs_watch_move);
	for_each_kernel_tracepoint(ehs_watch_pick, NULL);
	for (n = 0; n < ARRAY_SIZE(ehs_watches); n++) {
		err = -ENOENT;
		if (!ehs_watches[n].point) {
			pr_err("tracepoint %s not found: this kernel lacks CONFIG_TRACEPOINTS or renamed it\n",
			       ehs_watches[n].name);
			goto stop;
		}
		err = tracepoint_probe_register(ehs_watches[n].point, ehs_watches[n].probe, NULL);
		if (err)
			goto stop;
	}
	return 0;

stop:
	ehs_watch_stop(n);
	return err;
}

void ehs_watch_exit(void)
{
	ehs_watch_stop(ARRAY_SIZE(ehs_watches));
}
