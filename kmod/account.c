// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds what a task used on another node to its stub, so that its parent gets
 * the same numbers from wait4(), times() and getrusage(RUSAGE_CHILDREN) as if
 * the task had run here.
 */

#include "account.h"

#include <linux/ktime.h>
#include <linux/netlink.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "task.h"
#include "usage.h"

/*
 * Adds to the stub's waited-for children: the stub has none, and only the
 * scheduler may write its own times. The numbers are read under siglock or
 * stats_lock, so both are held, in the order of wait_task_zombie().
 *
 * If the stub was killed meanwhile, it may be a zombie whose parent reads the
 * numbers under its own locks. The parent may then see some of them and not the
 * others.
 */
static void ehs_account_add(struct signal_struct *sig, const struct ehs_usage *usage)
{
	write_seqlock(&sig->stats_lock);
	ehs_usage_add(sig, usage);
	write_sequnlock(&sig->stats_lock);
}

/*
 * Does what lock_task_sighand() does, which is not exported. The memory of
 * sighand_struct is SLAB_TYPESAFE_BY_RCU: it may belong to another task by the
 * time it is locked, so the task is asked again.
 */
static bool ehs_account_task(struct task_struct *task, const struct ehs_usage *usage)
{
	struct sighand_struct *sighand;
	unsigned long flags;
	bool here;

	rcu_read_lock();
	for (;;) {
		sighand = rcu_dereference(task->sighand);
		here = sighand;
		if (!here)
			break;
		spin_lock_irqsave(&sighand->siglock, flags);
		here = sighand == rcu_access_pointer(task->sighand);
		if (here)
			ehs_account_add(task->signal, usage);
		spin_unlock_irqrestore(&sighand->siglock, flags);
		if (here)
			break;
	}
	rcu_read_unlock();
	return here;
}

/* Whether the record is a stub's, and @usage possible for it; then notes it. */
static int ehs_account_check(struct ehs_task *rec, const struct ehs_usage *usage,
			     struct netlink_ext_ack *extack)
{
	struct ehs_node *node = rec->node;
	int err = 0;

	raw_spin_lock(&node->lock);
	if (rec->gone || rec->state != EHS_TASK_AWAY) {
		err = -ESRCH;
	} else if (!ehs_usage_is_possible(usage, ktime_get_ns() - rec->started_at,
					  &rec->accounted)) {
		NL_SET_ERR_MSG_MOD(extack, "more than a task can use in the time since its exec");
		err = -ERANGE;
	}
	raw_spin_unlock(&node->lock);
	return err;
}

/**
 * ehs_account - account for a task that has ended on another node
 * @node: node of the caller
 * @pid: the stub of the task
 * @usage: what the task used
 * @extack: for the text of a refusal
 *
 * Return: 0, -ESRCH if this is not a stub of the node, -ERANGE if no task can have
 * used so much since its exec.
 */
int ehs_account(struct ehs_node *node, struct pid *pid, const struct ehs_usage *usage,
		struct netlink_ext_ack *extack)
{
	struct task_struct *task = get_pid_task(pid, PIDTYPE_TGID);
	struct ehs_task *rec = ehs_task_get(node, pid);
	int err = -ESRCH;

	/* only stubs: the kernel has counted everything that the others used */
	if (task && rec)
		err = ehs_account_check(rec, usage, extack);
	if (!err && !ehs_account_task(task, usage))
		err = -ESRCH;
	if (err == -ESRCH)
		NL_SET_ERR_MSG_MOD(extack, "not a stub of this node");
	if (rec)
		ehs_task_put(rec);
	if (task)
		put_task_struct(task);
	return err;
}
