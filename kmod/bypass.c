// SPDX-License-Identifier: GPL-2.0-only
/* Bypass: the next exec of a task is not placed, because the agent asks for it. */

#include "bypass.h"

#include <linux/err.h>
#include <linux/netlink.h>
#include <linux/pid.h>
#include <linux/sched/task.h>

#include "task.h"

/* Return: 0; 1 if the record was removed meanwhile; an error of ehs_task_make(). */
static int ehs_bypass_try(struct ehs_node *node, struct task_struct *task, struct pid *tgid,
			  struct netlink_ext_ack *extack)
{
	struct ehs_task *rec = ehs_task_make(node, task, tgid, extack);
	bool gone;

	if (IS_ERR(rec))
		return PTR_ERR(rec);
	raw_spin_lock(&node->lock);
	gone = rec->gone;
	rec->bypass = true;
	raw_spin_unlock(&node->lock);
	ehs_task_put(rec);
	return gone;
}

/**
 * ehs_bypass - do not place the next exec of a task
 * @node: node of the caller
 * @pid: process id of the task
 * @extack: for the text of a refusal
 *
 * Return: 0, -ESRCH if there is no such task in the node, -EINVAL for a kernel
 * thread, -EUSERS if the task has records in too many other nodes, -ENOMEM.
 */
int ehs_bypass(struct ehs_node *node, struct pid *pid, struct netlink_ext_ack *extack)
{
	struct task_struct *task = get_pid_task(pid, PIDTYPE_PID);
	/* asked for once: it is NULL as soon as the task is reaped */
	struct pid *tgid = task ? get_task_pid(task, PIDTYPE_TGID) : NULL;
	int err;

	if (!tgid || !ehs_node_has(node, task)) {
		NL_SET_ERR_MSG_MOD(extack, "no such task in this network namespace");
		err = -ESRCH;
		goto put_task;
	}
	/* it will never call exec, and its record would be counted for good */
	if (READ_ONCE(task->flags) & PF_KTHREAD) {
		NL_SET_ERR_MSG_MOD(extack, "a kernel thread never calls exec");
		err = -EINVAL;
		goto put_task;
	}
	/* a task that has ended ends this, too */
	do
		err = ehs_bypass_try(node, task, tgid, extack);
	while (err > 0);
put_task:
	put_pid(tgid);
	if (task)
		put_task_struct(task);
	return err;
}
