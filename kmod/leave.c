// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks that leave a node: they run a program outside of its cgroups or in
 * another namespace, are moved out, or the node's cgroups change. Their records
 * are removed then, unless the task is a stub.
 */

#include "leave.h"

#include <linux/cgroup.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>

#include "task.h"

/**
 * ehs_leave_exec - the current task calls exec, and has left nodes
 * @node: node of its namespace if it is in one of its cgroups: it stays there;
 *	else NULL
 *
 * A group with more than one thread may be in several namespaces and cgroups, and
 * keeps its records until it ends.
 */
void ehs_leave_exec(const struct ehs_node *node)
{
	if (get_nr_threads(current) == 1)
		ehs_task_remove_group(task_tgid(current), node);
}

/*
 * Whether the group is in none of the node's cgroups any more. It is where its
 * first thread is that has not exited: a leader that has stays where it was.
 */
static bool ehs_leave_is_outside(const struct ehs_task *rec)
{
	struct task_struct *leader, *thread;
	bool outside = false;

	rcu_read_lock();
	leader = pid_task(rec->tgid, PIDTYPE_TGID);
	if (leader) {
		for_each_thread(leader, thread) {
			if (READ_ONCE(thread->flags) & PF_EXITING)
				continue;
			outside = ehs_node_kind(rec->node, thread) == EHS_KIND_OTHER;
			break;
		}
	}
	rcu_read_unlock();
	return outside;
}

/**
 * ehs_leave_check - remove a record whose task has left the node's cgroups
 * @rec: record, referenced
 *
 * A stub's record stays: its work is still away. So does one with a bypass, for
 * an exec that may come when the task is back. An exec that is under way calls
 * ehs_leave_settled(). Either that sees the change of the cgroup, or this sees
 * the exec settled: both hold the node's lock after their own change.
 */
void ehs_leave_check(struct ehs_task *rec)
{
	struct ehs_task_chain *chain = ehs_task_chain_of(rec->tgid);
	struct ehs_node *node = rec->node;

	raw_spin_lock(&chain->lock);
	raw_spin_lock(&node->lock);
	if (!rec->gone && !rec->in_exec && !rec->bypass && rec->state != EHS_TASK_AWAY &&
	    ehs_leave_is_outside(rec))
		ehs_task_remove_locked(rec);
	raw_spin_unlock(&node->lock);
	raw_spin_unlock(&chain->lock);
}

/**
 * ehs_leave_settled - the exec of the current task has been settled
 * @rec: its record, referenced
 *
 * It is asked where this thread is: it will be the group's only one.
 */
void ehs_leave_settled(struct ehs_task *rec)
{
	if (ehs_node_kind(rec->node, current) == EHS_KIND_OTHER)
		ehs_leave_check(rec);
}

/**
 * ehs_leave_moved - a thread group has been moved to another cgroup
 * @tgid: thread group; the caller is in an RCU read section
 *
 * For atomic context: takes no lock. If it has left the cgroups of a node, work
 * of that node removes its record. A record found under RCU has a node that is
 * still there: see ehs_node_net_pre_exit().
 */
void ehs_leave_moved(const struct pid *tgid)
{
	const struct ehs_task *rec;

	hlist_for_each_entry_rcu(rec, &ehs_task_chain_of(tgid)->head, hash) {
		/* as ehs_leave_check() will find, but without the lock */
		if (rec->tgid == tgid && !READ_ONCE(rec->in_exec) &&
		    READ_ONCE(rec->state) != EHS_TASK_AWAY && ehs_leave_is_outside(rec))
			queue_work(ehs_node_wq, &rec->node->check);
	}
}

/**
 * ehs_leave_check_all - remove the records of tasks that have left the cgroups of
 * a node
 * @node: node
 *
 * May sleep.
 */
void ehs_leave_check_all(struct ehs_node *node)
{
	struct ehs_task *rec;
	u64 serial = 0;

	while ((rec = ehs_task_get_after(node, serial))) {
		serial = rec->serial;
		ehs_leave_check(rec);
		ehs_task_put(rec);
		cond_resched();
	}
}
