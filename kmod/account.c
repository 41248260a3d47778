// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a task used on another node is added to its stub, so that whoever waits
 * for it (wait4(), times(), getrusage(RUSAGE_CHILDREN), time of a shell) finds
 * what it would have found had the task run here.
 */

#include <linux/netlink.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "account.h"
#include "task.h"

/*
 * To the stub's waited-for children, as it has none of its own: its own times
 * are the scheduler's to write. They are read under siglock or stats_lock, so
 * both are held, in the order of wait_task_zombie().
 *
 * A stub that was killed meanwhile may be a zombie whose parent reads them
 * under its own locks: it then sees some of the numbers or all.
 */
static void ehs_account_add(struct signal_struct *sig, const struct ehs_usage *usage)
{
	write_seqlock(&sig->stats_lock);
	ehs_usage_add(sig, usage);
	write_sequnlock(&sig->stats_lock);
}

/*
 * lock_task_sighand() is not exported. The handlers' memory is typesafe under
 * RCU: what was locked may belong to another by then, so it is looked at again.
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

/**
 * ehs_account - a task that is away has ended, and used this
 * @node: node of the caller
 * @pid: its stub
 * @usage: what it used
 * @extack: for the text of a refusal
 *
 * Return: 0, -ESRCH if this is no stub of the node.
 */
int ehs_account(struct ehs_node *node, struct pid *pid, const struct ehs_usage *usage,
		struct netlink_ext_ack *extack)
{
	struct task_struct *task = get_pid_task(pid, PIDTYPE_TGID);
	bool done = false;

	/* stubs only: of others the kernel has counted all there is */
	if (task && ehs_task_is_away_from(node, pid))
		done = ehs_account_task(task, usage);
	if (task)
		put_task_struct(task);
	if (!done) {
		NL_SET_ERR_MSG(extack, "no task of this node that is away");
		return -ESRCH;
	}
	return 0;
}
