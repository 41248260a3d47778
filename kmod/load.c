// SPDX-License-Identifier: GPL-2.0-only
/*
 * Load of a node, in thousandths of a task. It is one of three load indexes:
 *
 * runnable  threads that run or wait for a processor, of all users and cgroups:
 *           of the node's network namespace, or of the whole host if that is the
 *           initial one; sampled every EHS_LOAD_SAMPLE_MS, less often on a host
 *           with many threads, and smoothed
 * cpu       busy processors of the host, sampled and smoothed in the same way
 * tasks     number of live managed and guest tasks times a weight; exact and
 *           not delayed
 *
 * A sample would see a burst of new tasks too late: all of them would be judged
 * by the load before the first. So a task that starts here adds a whole task to
 * the smoothed value at once. Smoothing makes this part fade by the same factor
 * by which the sampled value rises, so nothing counts twice. And the end of a task
 * takes both parts away at once: the processor is free.
 *
 * What samples take is charged to a budget: a part of one processor's time. A
 * sample begins only when the ones before it are paid for, whoever wants it.
 */

#include "load.h"

#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include "busy.h"
#include "load_math.h"
#include "seen.h"
#include "state.h"
#include "trace.h"
#include "walk.h"

/**
 * struct ehs_sampler - takes the samples of all nodes with one load index
 * @index: enum ehs_load_index
 * @work: takes a sample, and queues itself again while a node wants samples
 * @nodes: the nodes that want them: no other is looked at. The first has waited longest
 * @nr_nodes: number of @nodes
 * @load: busy processors in the last sample, thousandths; index cpu only
 * @looked_at: when the last whole look at the host ended, ns; 0 if there was none
 * @began_at: when the last sample began, ns
 * @credit: time that samples may take, saved since the last; negative: debt, ns
 * @earned_at: when @credit was counted last, ns
 *
 * All but @index and @work is guarded by ehs_load_lock.
 */
struct ehs_sampler {
	u32 index;
	struct delayed_work work;
	struct list_head nodes;
	u32 nr_nodes;
	u32 load;
	u64 looked_at;
	u64 began_at;
	s64 credit;
	u64 earned_at;
};

/*
 * Users can make as many nodes as they can make namespaces. A sample moves the
 * values of so many of them, in turn; a value that had to wait has followed all
 * the same, as late samples count for several. The host's own node does not wait.
 */
#define EHS_LOAD_NODES 64

/*
 * Guards the samplers, and what nodes keep for them. Netlink's callers take it, so it
 * is held for one node at a time, and not over a look at the host. Raw, because with
 * PREEMPT_RT a user's process could be off its processor with it for as long as he likes.
 */
static DEFINE_RAW_SPINLOCK(ehs_load_lock);

static struct ehs_sampler ehs_load_runnable = {
	.index = EHS_INDEX_RUNNABLE,
	.nodes = LIST_HEAD_INIT(ehs_load_runnable.nodes),
	.credit = EHS_LOAD_CREDIT_NS,
};

static struct ehs_sampler ehs_load_cpu = {
	.index = EHS_INDEX_CPU,
	.nodes = LIST_HEAD_INIT(ehs_load_cpu.nodes),
	.credit = EHS_LOAD_CREDIT_NS,
};

/**
 * ehs_load_get - the node's load, thousandths of a task
 * @node: node, locked
 */
u32 ehs_load_get(const struct ehs_node *node)
{
	lockdep_assert_held(&node->lock);
	if (node->set.index == EHS_INDEX_TASKS)
		return ehs_load_weigh(node->counts[EHS_TASK_LOCAL] + node->counts[EHS_TASK_GUEST],
				      node->set.weight);
	return ehs_load_round(node->smoothed);
}

/**
 * ehs_load_boost - count a task that just starts before it can be sampled
 * @node: node, locked
 *
 * Return: for ehs_load_unboost().
 */
u32 ehs_load_boost(struct ehs_node *node)
{
	lockdep_assert_held(&node->lock);
	node->smoothed += EHS_LOAD_TASK;
	return node->samples;
}

/**
 * ehs_load_unboost - the task has ended: remove what the smoothed value has of it
 * @node: node, locked
 * @boosted_at: from ehs_load_boost()
 * @part: in 1/1024, of the samples that have seen it
 *
 * That is what smoothing left of its start, and of the rest of a whole task the part that
 * samples have put in the place of what faded.
 */
void ehs_load_unboost(struct ehs_node *node, u32 boosted_at, u32 part)
{
	s64 left = ehs_load_left(node->samples - boosted_at);

	lockdep_assert_held(&node->lock);
	left += (EHS_LOAD_TASK - left) * part >> 10;
	node->smoothed = max(node->smoothed - left, 0LL);
}

/* Return: NULL if the node's load is exact without samples. */
static struct ehs_sampler *ehs_load_sampler(struct ehs_node *node)
{
	u32 index;

	raw_spin_lock(&node->lock);
	index = node->set.index;
	raw_spin_unlock(&node->lock);
	switch (index) {
	case EHS_INDEX_RUNNABLE:
		return &ehs_load_runnable;
	case EHS_INDEX_CPU:
		return &ehs_load_cpu;
	default:
		return NULL;
	}
}

/* Whether the node wants samples: it may need its load at any time, or it was read lately. */
static bool ehs_load_wanted(const struct ehs_node *node)
{
	lockdep_assert_held(&ehs_load_lock);
	return rcu_access_pointer(node->cgroups) || rcu_access_pointer(node->agent) ||
	       get_jiffies_64() - node->read_at < EHS_LOAD_READ_JIFFIES;
}

/* Nanoseconds until the next sample may begin; 0 if it may now, or in less than a jiffy. */
static u64 ehs_load_due_in(struct ehs_sampler *sampler)
{
	u64 now = ktime_get_ns(), wait;

	lockdep_assert_held(&ehs_load_lock);
	sampler->credit = ehs_load_earn(sampler->credit, now - sampler->earned_at);
	sampler->earned_at = now;
	wait = ehs_load_wait(sampler->credit, now - sampler->began_at);
	return wait < TICK_NSEC ? 0 : wait;
}

/* One jiffy less, because a timer first waits for the end of the current one. */
static void ehs_load_queue(struct ehs_sampler *sampler, u64 wait)
{
	queue_delayed_work(ehs_wq, &sampler->work, max(nsecs_to_jiffies(wait), 2UL) - 1);
}

/*
 * Moves the node's smoothed value towards what the last look at the host has
 * seen. Without such a look the node keeps its last value, or what the starts
 * of its tasks have made of it.
 */
static void ehs_load_follow(const struct ehs_sampler *sampler, struct ehs_node *node)
{
	u64 looked_at = sampler->looked_at;
	unsigned int samples;
	u32 runnable;
	s64 target;

	lockdep_assert_held(&ehs_load_lock);
	if (!looked_at)
		return;
	if (sampler == &ehs_load_cpu)
		target = sampler->load;
	else if (ehs_walk_runnable(node, &runnable))
		target = runnable * 1000ULL;
	else
		return;

	raw_spin_lock(&node->lock);
	samples = EHS_LOAD_FADED;
	if (node->sampled_at)
		samples = ehs_load_samples(max(looked_at, node->sampled_at) - node->sampled_at);
	/* the index may just have changed: ehs_load_wake() is about to be called */
	if (samples && node->set.index == sampler->index) {
		node->smoothed =
			ehs_load_smooth(node->smoothed, target << EHS_LOAD_FRACTION, samples);
		node->samples += samples;
		node->sampled_at = looked_at;
		ehs_state_update(node);
	}
	raw_spin_unlock(&node->lock);
}

static void ehs_load_unlist(struct ehs_node *node)
{
	lockdep_assert_held(&ehs_load_lock);
	if (!node->sampler)
		return;
	list_del_init(&node->active);
	node->sampler->nr_nodes--;
	node->sampler = NULL;
}

/* The node's turn: it follows the sample, or is not sampled any more. */
static void ehs_load_turn(struct ehs_node *node, bool whole)
{
	struct ehs_sampler *sampler = node->sampler;

	lockdep_assert_held(&ehs_load_lock);
	if (!ehs_load_wanted(node)) {
		ehs_load_unlist(node);
		return;
	}
	list_move_tail(&node->active, &sampler->nodes);
	if (whole)
		ehs_load_follow(sampler, node);
}

/* Return: the number of nodes that had their turn. */
static u32 ehs_load_turns(struct ehs_sampler *sampler, bool whole)
{
	struct ehs_node *node = ehs_node_of(&init_net);
	u32 most, n = 0;

	raw_spin_lock(&ehs_load_lock);
	most = min_t(u32, sampler->nr_nodes, EHS_LOAD_NODES);
	if (node->sampler == sampler) {
		ehs_load_turn(node, whole);
		n++;
	}
	raw_spin_unlock(&ehs_load_lock);
	for (; n < most; n++) {
		raw_spin_lock(&ehs_load_lock);
		node = list_first_entry_or_null(&sampler->nodes, struct ehs_node, active);
		if (node)
			ehs_load_turn(node, whole);
		raw_spin_unlock(&ehs_load_lock);
	}
	return n;
}

/* A look at the host and what follows from it; the sampler is charged for all of it. */
static void ehs_load_sample(struct ehs_sampler *sampler)
{
	struct ehs_seen seen = {};
	u64 start;
	u32 nodes;

	/* the work is the only one that looks, and does not run beside itself */
	if (sampler == &ehs_load_cpu)
		ehs_busy(&seen);
	else
		ehs_walk(&seen);
	start = ktime_get_ns();
	raw_spin_lock(&ehs_load_lock);
	if (sampler == &ehs_load_cpu)
		sampler->load = seen.load;
	else if (seen.whole)
		ehs_walk_publish(&seen);
	if (seen.whole)
		sampler->looked_at = start;
	raw_spin_unlock(&ehs_load_lock);
	nodes = ehs_load_turns(sampler, seen.whole);
	seen.cost += ktime_get_ns() - start;
	raw_spin_lock(&ehs_load_lock);
	sampler->credit = ehs_load_spend(sampler->credit, ehs_load_charge(seen.cost, seen.threads));
	raw_spin_unlock(&ehs_load_lock);
	trace_ehs_sample(sampler->index, nodes, seen.threads, seen.counted, seen.whole, seen.cost);
}

/* Return: whether a sample may begin now; then it has begun. */
static bool ehs_load_begin(struct ehs_sampler *sampler)
{
	bool now;

	raw_spin_lock(&ehs_load_lock);
	now = sampler->nr_nodes && !ehs_load_due_in(sampler);
	if (now)
		sampler->began_at = ktime_get_ns();
	raw_spin_unlock(&ehs_load_lock);
	return now;
}

static void ehs_load_work(struct work_struct *work)
{
	struct ehs_sampler *sampler = container_of(to_delayed_work(work), struct ehs_sampler, work);

	if (ehs_load_begin(sampler))
		ehs_load_sample(sampler);
	raw_spin_lock(&ehs_load_lock);
	if (sampler->nr_nodes)
		ehs_load_queue(sampler, ehs_load_due_in(sampler));
	raw_spin_unlock(&ehs_load_lock);
}

/**
 * ehs_load_wake - the load of a node is wanted, or its load index has changed
 * @node: node
 *
 * Sees to it that the node is sampled. If it was not, it follows the last look at the
 * host, which has an answer for this node, too; and if the budget allows a sample
 * now, that begins at once. Nobody waits for it: the load has an age. Does not sleep.
 */
void ehs_load_wake(struct ehs_node *node)
{
	struct ehs_sampler *sampler;
	u64 wait;

	raw_spin_lock(&ehs_load_lock);
	node->read_at = get_jiffies_64();
	sampler = ehs_load_sampler(node);
	if (sampler == node->sampler)
		goto unlock;
	ehs_load_unlist(node);
	if (!sampler)
		goto unlock;
	list_add_tail(&node->active, &sampler->nodes);
	sampler->nr_nodes++;
	node->sampler = sampler;
	ehs_load_follow(sampler, node);
	wait = ehs_load_due_in(sampler);
	if (wait)
		ehs_load_queue(sampler, wait);
	else
		mod_delayed_work(ehs_wq, &sampler->work, 0);
unlock:
	raw_spin_unlock(&ehs_load_lock);
}

/**
 * ehs_load_leave - the node ends: no sample for it any more
 * @node: node
 *
 * Does not sleep.
 */
void ehs_load_leave(struct ehs_node *node)
{
	raw_spin_lock(&ehs_load_lock);
	ehs_load_unlist(node);
	raw_spin_unlock(&ehs_load_lock);
}

void ehs_load_init(void)
{
	struct ehs_seen seen = {};

	INIT_DELAYED_WORK(&ehs_load_runnable.work, ehs_load_work);
	INIT_DELAYED_WORK(&ehs_load_cpu.work, ehs_load_work);
	/* what the processors did before is not load */
	ehs_busy(&seen);
	ehs_load_runnable.earned_at = ktime_get_ns();
	ehs_load_cpu.earned_at = ehs_load_runnable.earned_at;
}

/* After the netlink family is gone, so that nothing wakes the samplers again. */
void ehs_load_exit(void)
{
	cancel_delayed_work_sync(&ehs_load_runnable.work);
	cancel_delayed_work_sync(&ehs_load_cpu.work);
}
