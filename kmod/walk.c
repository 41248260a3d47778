// SPDX-License-Identifier: GPL-2.0-only
/*
 * The walk over all threads of the host. It counts the runnable ones of each
 * node, of all nodes at once: so the last walk has an answer also for a node
 * that is asked for later. A node has room for two walks: the last whole one,
 * and the one under way, which becomes the last whole one, or is discarded.
 *
 * The node of the initial namespace stands for the host: it has the threads of all
 * namespaces, because they use its processors, and any user can make a namespace.
 */

#include "walk.h"

#include <linux/ktime.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/spinlock.h>

#include "node.h"
#include "seen.h"

/* Threads that are looked at without a break: some 100 us. */
#define EHS_WALK_CHUNK 1024

/* One walk at a time: only the sampler of runnable walks, and publishes under its lock. */
static u64 ehs_walk_begun;
static u64 ehs_walk_whole; /* number of the last whole walk; 0 if there was none */
static unsigned int ehs_walk_slot; /* where the nodes keep its counts */
static u32 ehs_walk_all; /* runnable threads of the host, as it saw them */

/* Adds a runnable thread in the node's namespace to the walk under way. */
static void ehs_walk_count(struct ehs_node *node)
{
	struct ehs_walked *walked = &node->walked[!ehs_walk_slot];

	if (walked->walk != ehs_walk_begun) {
		walked->walk = ehs_walk_begun;
		walked->runnable = 0;
	}
	walked->runnable++;
}

/*
 * Nice threads and those of SCHED_IDLE count as any: they have less of the part of
 * their group only, and every user can make a group. So do stubs: one sleeps while its task
 * runs elsewhere, unless its user makes it compute. The caller is in an RCU read section.
 */
static void ehs_walk_look_at(struct task_struct *thread, struct ehs_seen *seen)
{
	if (READ_ONCE(thread->__state) != TASK_RUNNING || READ_ONCE(thread->flags) & PF_KTHREAD ||
	    !READ_ONCE(thread->nsproxy))
		return;
	/* of the host, for which it does not matter in which namespaces */
	seen->counted++;
	/*
	 * The lock keeps the namespaces alive. A thread that holds its own just now, for a call
	 * about itself, is missing in its node, because with PREEMPT_RT it could be off its
	 * processor with the lock for as long as its user likes.
	 */
	if (!spin_trylock(&thread->alloc_lock))
		return;
	if (thread->nsproxy)
		ehs_walk_count(ehs_node_of(thread->nsproxy->net_ns));
	spin_unlock(&thread->alloc_lock);
}

/*
 * Whether the lists can be followed from here after others have run. Both tasks
 * are referenced, and the caller is in an RCU read section again. A task whose
 * pid is gone is off the lists, or is about to be; a leader which another thread
 * has replaced by an exec has its pid for a little longer, but is off the list
 * of processes. All this is written before a grace period begins that could end
 * the next task's life: what is still true here stays so in this RCU section.
 */
static bool ehs_walk_goes_on(struct task_struct *process, const struct task_struct *thread)
{
	return pid_alive(process) && thread_group_leader(process) && pid_alive(thread);
}

/**
 * ehs_walk - count the runnable threads of all nodes
 * @seen: zeroed; threads, runnable ones, what it took, and whether it saw all
 *
 * Between chunks others may run. A walk whose place in the lists ends meanwhile
 * is given up: half of the threads are no load. That is rare, because it takes
 * the exit of one certain task in one of the moments between chunks; and the
 * next walk, when the budget allows it, has other tasks there.
 *
 * Sleeps. Time in which it lets others run is not part of what it took.
 */
void ehs_walk(struct ehs_seen *seen)
{
	struct task_struct *process, *thread;
	u64 start = ktime_get_ns();
	bool goes_on;

	ehs_walk_begun++;
	rcu_read_lock();
	for_each_process_thread(process, thread) {
		ehs_walk_look_at(thread, seen);
		if (++seen->threads % EHS_WALK_CHUNK)
			continue;
		get_task_struct(process);
		get_task_struct(thread);
		rcu_read_unlock();
		seen->cost += ktime_get_ns() - start;
		cond_resched();
		start = ktime_get_ns();
		rcu_read_lock();
		goes_on = ehs_walk_goes_on(process, thread);
		put_task_struct(thread);
		put_task_struct(process);
		if (!goes_on)
			goto unlock;
	}
	seen->whole = true;
unlock:
	rcu_read_unlock();
	seen->cost += ktime_get_ns() - start;
}

/**
 * ehs_walk_publish - the walk that has just ended was whole: its counts are the last
 * @seen: what it has seen
 *
 * The caller holds the lock that ehs_walk_runnable() is called under.
 */
void ehs_walk_publish(const struct ehs_seen *seen)
{
	ehs_walk_whole = ehs_walk_begun;
	ehs_walk_slot = !ehs_walk_slot;
	ehs_walk_all = seen->counted;
}

/**
 * ehs_walk_runnable - runnable threads of a node, as the last whole walk saw them
 * @node: node
 * @runnable: set to their number
 *
 * Return: whether there was such a walk.
 */
bool ehs_walk_runnable(const struct ehs_node *node, u32 *runnable)
{
	const struct ehs_walked *walked = &node->walked[ehs_walk_slot];

	if (ehs_node_is_host(node))
		*runnable = ehs_walk_all;
	else if (walked->walk == ehs_walk_whole)
		*runnable = walked->runnable;
	else
		/* a node that the walk did not come across had none */
		*runnable = 0;
	return ehs_walk_whole;
}
