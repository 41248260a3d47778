// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks that leave a node: they run a program outside of its cgroups or in
 * another namespace, are moved out, or the node's cgroups change. Their records
 * are removed then, unless the task is a stub.
 */

#include "leave.h"

#include <linux/cgroup.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/time64.h>

#include "away.h"
#include "task.h"

/*
 * As many threads of a group that have exited are passed over. A tracer can keep any
 * number of them, and this runs under locks.
 */
#define EHS_LEAVE_EXITED_MAX 128
/*
 * A user can change the cgroups of his own nodes as often as he likes, and each change
 * takes a look at all records of one: that has this part of a processor's time, until
 * one takes so long that it would be put off for more than a second.
 */
#define EHS_LEAVE_PART 100
#define EHS_LEAVE_PAUSE_NS (1ULL * NSEC_PER_SEC)

/* When the next such look may begin, ns: of the host's node, and of all others together. */
static u64 ehs_leave_from_host, ehs_leave_from_others;

/*
 * Whether the group is in none of the node's cgroups any more. It is where its
 * first thread is that has not exited: a leader that has stays where it was. If too
 * many have, it is taken to be inside, until it ends.
 */
static bool ehs_leave_is_outside(const struct ehs_task *rec)
{
	struct task_struct *leader, *thread;
	unsigned int exited = 0;
	bool outside = false;

	rcu_read_lock();
	leader = pid_task(rec->tgid, PIDTYPE_TGID);
	if (leader) {
		for_each_thread(leader, thread) {
			if (READ_ONCE(thread->flags) & PF_EXITING) {
				if (++exited == EHS_LEAVE_EXITED_MAX)
					break;
				continue;
			}
			outside = ehs_node_kind(rec->node, thread) == EHS_KIND_OTHER;
			break;
		}
	}
	rcu_read_unlock();
	return outside;
}

/*
 * Removes a record whose task has left the node's cgroups; the caller has a reference.
 *
 * A stub's record stays: its work is still away. So does one with a bypass, for
 * an exec that may come when the task is back. An exec that is under way calls
 * ehs_leave_settled().
 */
static void ehs_leave_check(struct ehs_task *rec)
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
 * ehs_leave_exec - the current task calls exec, and has left nodes
 * @node: node of its namespace if it is in one of its cgroups: it stays there;
 *	else NULL
 *
 * A group with more than one thread may be in several namespaces and cgroups, and
 * keeps its records until it ends. But it is no stub any more: another program is.
 */
void ehs_leave_exec(const struct ehs_node *node)
{
	const struct pid *tgid = task_tgid(current);
	struct ehs_task *rec;

	if (get_nr_threads(current) == 1) {
		ehs_task_remove_group(tgid, node);
		return;
	}
	while ((rec = ehs_away_get(tgid, node))) {
		ehs_task_settle(rec, EHS_TASK_LOCAL, EHS_REASON_NONE);
		ehs_leave_check(rec);
		ehs_task_put(rec);
	}
}

/**
 * ehs_leave_settled - the exec of the current task has been settled
 * @rec: its record, referenced
 *
 * It is asked where this thread is: it will be the group's only one.
 */
void ehs_leave_settled(struct ehs_task *rec)
{
	/*
	 * The record was settled, then the cgroup is read; a move writes the cgroup,
	 * then reads whether the record is settled. Pairs with the barrier of
	 * ehs_leave_moved(): one of the two sees the other.
	 */
	smp_mb();
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
	struct ehs_task *rec;

	/* the cgroup was written, then the records are read: see ehs_leave_settled() */
	smp_mb();
	hlist_for_each_entry_rcu(rec, &ehs_task_chain_of(tgid)->head, hash) {
		/* as ehs_leave_check() will find, but without the lock */
		if (rec->tgid != tgid || READ_ONCE(rec->in_exec) ||
		    READ_ONCE(rec->state) == EHS_TASK_AWAY || !ehs_leave_is_outside(rec))
			continue;
		/* if it is in the list, who takes it out of there sees this move, too */
		if (test_and_set_bit(0, &rec->is_moved))
			continue;
		/* one that is removed at this moment */
		if (!refcount_inc_not_zero(&rec->refs))
			continue;
		llist_add(&rec->moved, &rec->node->moved);
		queue_work(ehs_node_queue(rec->node), &rec->node->check_moved);
	}
}

static void ehs_leave_check_moved(struct work_struct *work)
{
	struct ehs_node *node = container_of(work, struct ehs_node, check_moved);
	struct ehs_task *rec, *next;

	llist_for_each_entry_safe(rec, next, llist_del_all(&node->moved), moved) {
		/*
		 * With a barrier: who finds it still set has moved the task before
		 * this check. From here on it may be in the list again, with
		 * another reference.
		 */
		test_and_clear_bit(0, &rec->is_moved);
		ehs_leave_check(rec);
		ehs_task_put(rec);
		cond_resched();
	}
}

static u64 *ehs_leave_from(const struct ehs_node *node)
{
	return ehs_node_is_host(node) ? &ehs_leave_from_host : &ehs_leave_from_others;
}

static void ehs_leave_queue(struct ehs_node *node, unsigned long delay)
{
	queue_delayed_work(ehs_node_is_host(node) ? ehs_wq : ehs_check_wq, &node->check, delay);
}

/* Return: whether the last look at all records is not paid for yet; then it is queued. */
static bool ehs_leave_put_off(struct ehs_node *node)
{
	u64 now = ktime_get_ns(), from = READ_ONCE(*ehs_leave_from(node));

	if (from <= now)
		return false;
	ehs_leave_queue(node, nsecs_to_jiffies(from - now) + 1);
	return true;
}

static void ehs_leave_check_all(struct work_struct *work)
{
	struct ehs_node *node = container_of(to_delayed_work(work), struct ehs_node, check);
	u64 begin = ktime_get_ns(), end, pause, serial = 0;
	struct ehs_task *rec;

	if (ehs_leave_put_off(node))
		return;
	while ((rec = ehs_task_get_after(node, serial))) {
		serial = rec->serial;
		ehs_leave_check(rec);
		ehs_task_put(rec);
		cond_resched();
	}
	end = ktime_get_ns();
	pause = min((end - begin) * EHS_LEAVE_PART, EHS_LEAVE_PAUSE_NS);
	/* the only one that runs: the others' checks have an ordered queue */
	WRITE_ONCE(*ehs_leave_from(node), end + pause);
}

/**
 * ehs_leave_regrouped - the cgroups of a node have changed
 * @node: node
 *
 * The records of tasks that are in none of them now are removed, soon.
 */
void ehs_leave_regrouped(struct ehs_node *node)
{
	if (!ehs_leave_put_off(node))
		ehs_leave_queue(node, 0);
}

/**
 * ehs_leave_init - for a new node
 * @node: node
 */
void ehs_leave_init(struct ehs_node *node)
{
	init_llist_head(&node->moved);
	INIT_WORK(&node->check_moved, ehs_leave_check_moved);
	INIT_DELAYED_WORK(&node->check, ehs_leave_check_all);
}

/**
 * ehs_leave_end - the node ends
 * @node: node; a grace period ago its last record was removed
 *
 * Sleeps.
 */
void ehs_leave_end(struct ehs_node *node)
{
	cancel_delayed_work_sync(&node->check);
	cancel_work_sync(&node->check_moved);
	/* what it did not come to any more: releases the references */
	ehs_leave_check_moved(&node->check_moved);
}
