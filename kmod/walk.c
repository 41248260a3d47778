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
/* Threads that an exec looks at: as long as an agent needs to answer it. */
#define EHS_WALK_EXEC 4096

/**
 * struct ehs_walk_exec - what an exec looks for
 * @node: its node
 * @processors: so many running threads are enough
 */
struct ehs_walk_exec {
	const struct ehs_node *node;
	u32 processors;
};

/*
 * One walk for the nodes at a time: only the sampler of runnable walks, and publishes under its
 * lock. An exec walks for itself, and writes nothing here.
 */
static u64 ehs_walk_begun;
static u64 ehs_walk_whole; /* number of the last whole walk; 0 if there was none */
static unsigned int ehs_walk_slot; /* where the nodes keep its counts */
static u32 ehs_walk_all; /* runnable threads of the host, as it saw them */
static u32 ehs_walk_threads; /* all threads; also read without the lock */

/* Adds a runnable thread in the node's namespace to the walk under way. */
static void ehs_walk_count(struct ehs_node *node)
{
	struct ehs_walk_count *count = &node->walk_counts[!ehs_walk_slot];

	if (count->walk != ehs_walk_begun) {
		count->walk = ehs_walk_begun;
		count->runnable = 0;
	}
	count->runnable++;
}

/*
 * Nice threads and those of SCHED_IDLE count as any: they have less of the part of
 * their group only, and every user can make a group. So do stubs: one sleeps while its task
 * runs elsewhere, unless its user makes it compute.
 */
static bool ehs_walk_runs(const struct task_struct *thread)
{
	return READ_ONCE(thread->__state) == TASK_RUNNING &&
	       !(READ_ONCE(thread->flags) & PF_KTHREAD) && READ_ONCE(thread->nsproxy);
}

/* For the sampler, which wants all. The caller is in an RCU read section. */
static bool ehs_walk_look_at(struct task_struct *thread, struct ehs_seen *seen,
			     const struct ehs_walk_exec *exec)
{
	if (!ehs_walk_runs(thread))
		return true;
	/* of the host, for which it does not matter in which namespaces */
	seen->counted++;
	/*
	 * The lock keeps the namespaces alive. A thread that holds its own just now, for a call
	 * about itself, is missing in its node, because with PREEMPT_RT it could be off its
	 * processor with the lock for as long as its user likes.
	 */
	if (!spin_trylock(&thread->alloc_lock))
		return true;
	if (thread->nsproxy)
		ehs_walk_count(ehs_node_of(thread->nsproxy->net_ns));
	spin_unlock(&thread->alloc_lock);
	return true;
}

/* A thread whose lock is held counts: that a processor is free is to be known. */
static bool ehs_walk_is_of(const struct ehs_node *node, struct task_struct *thread)
{
	bool is = true;

	if (ehs_node_is_host(node) || !spin_trylock(&thread->alloc_lock))
		return true;
	if (thread->nsproxy)
		is = ehs_node_of(thread->nsproxy->net_ns) == node;
	spin_unlock(&thread->alloc_lock);
	return is;
}

/* The same for an exec, which wants to know whether there are as many as processors. */
static bool ehs_walk_look_for(struct task_struct *thread, struct ehs_seen *seen,
			      const struct ehs_walk_exec *exec)
{
	if (seen->threads == EHS_WALK_EXEC)
		return false;
	/* other threads of its process end with the exec */
	if (ehs_walk_runs(thread) && !same_thread_group(thread, current) &&
	    ehs_walk_is_of(exec->node, thread))
		seen->counted++;
	return seen->counted < exec->processors;
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

/*
 * Looks at all threads, or until a look returns false. Between chunks others may run. A walk
 * whose place in the lists ends meanwhile is given up: half of the threads are no load. That is
 * rare, because it takes the exit of one certain task in one of the moments between chunks; and
 * the next walk, when the budget allows it, has other tasks there.
 *
 * Sleeps. Time in which it lets others run is not part of what it took.
 */
static __always_inline void ehs_walk_each(struct ehs_seen *seen,
					  bool (*look)(struct task_struct *, struct ehs_seen *,
						       const struct ehs_walk_exec *),
					  const struct ehs_walk_exec *exec)
{
	struct task_struct *process, *thread;
	u64 start = ktime_get_ns();
	bool goes_on;

	rcu_read_lock();
	for_each_process_thread(process, thread) {
		if (!look(thread, seen, exec))
			goto unlock;
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
 * ehs_walk - count the runnable threads of all nodes
 * @seen: zeroed; threads, runnable ones, what it took, and whether it saw all
 *
 * Sleeps.
 */
void ehs_walk(struct ehs_seen *seen)
{
	ehs_walk_begun++;
	ehs_walk_each(seen, ehs_walk_look_at, NULL);
}

/**
 * ehs_walk_is_full - whether as many threads run as the node has processors
 * @node: node
 * @processors: as many as its agent has said
 *
 * The process of the caller, which is in an exec, is none of them. It looks in its own time, at
 * EHS_WALK_EXEC threads at most, and waits for no lock. Sleeps.
 *
 * Return: also true if it is not known, because there are more threads than that, or the walk
 * was given up.
 */
bool ehs_walk_is_full(const struct ehs_node *node, u32 processors)
{
	const struct ehs_walk_exec exec = { .node = node, .processors = processors };
	struct ehs_seen seen = {};

	if (READ_ONCE(ehs_walk_threads) > EHS_WALK_EXEC)
		return true;
	ehs_walk_each(&seen, ehs_walk_look_for, &exec);
	return !seen.whole;
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
	WRITE_ONCE(ehs_walk_threads, seen->threads);
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
	const struct ehs_walk_count *count = &node->walk_counts[ehs_walk_slot];

	if (ehs_node_is_host(node))
		*runnable = ehs_walk_all;
	else if (count->walk == ehs_walk_whole)
		*runnable = count->runnable;
	else
		/* a node that the walk did not come across had none */
		*runnable = 0;
	return ehs_walk_whole;
}
