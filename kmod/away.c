// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stubs: tasks whose work is on another node. To execute the stub alone makes none,
 * because anybody can. A verdict does; and of those that were started by hand, or
 * before the module was loaded, the agent says that their work has begun elsewhere.
 */

#include "away.h"

#include <linux/err.h>
#include <linux/netlink.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "task.h"

/**
 * ehs_away_get - take a reference to a record of a stub
 * @tgid: thread group
 * @except: not the one of this node; or NULL
 *
 * Return: the record or NULL. It may be removed while the reference is held.
 */
struct ehs_task *ehs_away_get(const struct pid *tgid, const struct ehs_node *except)
{
	struct ehs_task *rec, *found = NULL;

	rcu_read_lock();
	hlist_for_each_entry_rcu(rec, &ehs_task_chain_of(tgid)->head, hash) {
		if (rec->tgid != tgid || rec->node == except ||
		    READ_ONCE(rec->state) != EHS_TASK_AWAY || !refcount_inc_not_zero(&rec->refs))
			continue;
		found = rec;
		break;
	}
	rcu_read_unlock();
	return found;
}

/*
 * Return: whether it is recorded; not if the record was removed, or an exec is under
 * way, which says more.
 */
static bool ehs_away_record(struct ehs_task *rec)
{
	bool is;

	raw_spin_lock(&rec->node->lock);
	is = !rec->gone && !rec->in_exec;
	if (is && rec->state != EHS_TASK_AWAY) {
		rec->reason = EHS_REASON_STUB;
		rec->placed = true;
		ehs_task_set_state(rec, EHS_TASK_AWAY);
	}
	raw_spin_unlock(&rec->node->lock);
	return is;
}

/**
 * ehs_away - the work of a task has begun on another node
 * @node: node of the caller
 * @pid: process id of the task, which is its stub
 * @extack: for the text of a refusal
 *
 * It may be known already.
 *
 * Return: 0, -ESRCH if there is no such task in the node's managed cgroups, -EBUSY if
 * it is calling exec, -EUSERS if it has records in too many other nodes, -ENOMEM.
 */
int ehs_away(struct ehs_node *node, struct pid *pid, struct netlink_ext_ack *extack)
{
	struct task_struct *task = get_pid_task(pid, PIDTYPE_TGID);
	struct ehs_task *rec;
	int err = -ESRCH;

	if (!task || READ_ONCE(task->flags) & PF_KTHREAD || !ehs_node_has(node, task) ||
	    !ehs_kind_is_managed(ehs_node_kind(node, task))) {
		NL_SET_ERR_MSG_MOD(extack, "no such task in the node's managed cgroups");
		goto put_task;
	}
	rec = ehs_task_make(node, task, pid, extack);
	if (IS_ERR(rec)) {
		err = PTR_ERR(rec);
		goto put_task;
	}
	err = 0;
	if (!ehs_away_record(rec)) {
		NL_SET_ERR_MSG_MOD(extack, "the task is calling exec, or has just ended");
		err = -EBUSY;
	}
	ehs_task_put(rec);
put_task:
	if (task)
		put_task_struct(task);
	return err;
}
