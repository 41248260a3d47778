// SPDX-License-Identifier: GPL-2.0-only
/*
 * Load of a node, in thousandths of a task. It is one of three load indexes:
 *
 * runnable  threads of the node that run or wait for a processor, of all users
 *           and cgroups; sampled every EHS_LOAD_SAMPLE_MS, less often on a host
 *           with many threads, and smoothed
 * cpu       busy processors of the host, sampled and smoothed in the same way
 * tasks     number of live managed and guest tasks times a weight; exact and
 *           not delayed
 *
 * A sample would see a burst of new tasks too late: all of them would be judged
 * by the load before the first. So a task that starts here adds a whole task to
 * the smoothed value at once. Smoothing makes this part fade by the same factor
 * by which the sampled value rises, so nothing counts twice.
 *
 * What samples take is charged to a budget: a part of one processor's time. A
 * sample begins only when the ones before it are paid for, whoever wants it.
 */

#include "load.h"

#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

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
 * @nodes: the nodes that want them: no other is looked at
 * @load: busy processors in the last sample, thousandths; index cpu only
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
	u32 load;
	u64 began_at;
	s64 credit;
	u64 earned_at;
};

/*
 * Guards the samplers, and what nodes keep for them. Not held over a look at
 * the host, so that nobody waits for another's walk.
 */
static DEFINE_MUTEX(ehs_load_lock);

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
 * ehs_load_unboost - the task has ended: remove what smoothing left of it
 * @node: node, locked
 * @boosted_at: from ehs_load_boost()
 */
void ehs_load_unboost(struct ehs_node *node, u32 boosted_at)
{
	lockdep_assert_held(&node->lock);
	node->smoothed = max(node->smoothed - ehs_load_left(node->samples - boosted_at), 0LL);
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
	u64 now = ktime_get_ns();
	unsigned int samples;
	u32 runnable;
	s64 target;

	lockdep_assert_held(&ehs_load_lock);
	if (sampler == &ehs_load_cpu)
		target = sampler->load;
	else if (ehs_walk_runnable(node, &runnable))
		target = runnable * 1000ULL;
	else
		return;

	raw_spin_lock(&node->lock);
	samples = node->sampled_at ? ehs_load_samples(now - node->sampled_at) : EHS_LOAD_FADED;
	/* the index may just have changed: ehs_load_wake() is about to follow */
	if (samples && node->set.index == sampler->index) {
		node->smoothed =
			ehs_load_smooth(node->smoothed, target << EHS_LOAD_FRACTION, samples);
		node->samples += samples;
		node->sampled_at = now;
		ehs_state_update(node);
	}
	raw_spin_unlock(&node->lock);
}

/* What follows a look at the host; all of it is charged to the sampler. */
static void ehs_load_sampled(struct ehs_sampler *sampler, struct ehs_seen *seen)
{
	struct ehs_node *node, *next;
	u64 start = ktime_get_ns();
	u32 nodes = 0;

	lockdep_assert_held(&ehs_load_lock);
	if (sampler == &ehs_load_cpu)
		sampler->load = seen->load;
	else if (seen->whole)
		ehs_walk_publish();
	list_for_each_entry_safe(node, next, &sampler->nodes, active) {
		nodes++;
		if (!ehs_load_wanted(node))
			list_del_init(&node->active);
		else if (seen->whole)
			ehs_load_follow(sampler, node);
		cond_resched();
	}
	seen->cost += ktime_get_ns() - start;
	sampler->credit = ehs_load_spend(sampler->credit, seen->cost);
	trace_ehs_sample(sampler->index, nodes, seen->threads, seen->counted, seen->whole,
			 seen->cost);
}

static void ehs_load_work(struct work_struct *work)
{
	struct ehs_sampler *sampler = container_of(to_delayed_work(work), struct ehs_sampler, work);
	struct ehs_seen seen = {};

	mutex_lock(&ehs_load_lock);
	if (list_empty(&sampler->nodes))
		goto unlock;
	if (!ehs_load_due_in(sampler)) {
		sampler->began_at = ktime_get_ns();
		mutex_unlock(&ehs_load_lock);
		/* the work is the only one that looks, and does not run beside itself */
		if (sampler == &ehs_load_cpu)
			ehs_busy(&seen);
		else
			ehs_walk(&seen);
		mutex_lock(&ehs_load_lock);
		ehs_load_sampled(sampler, &seen);
	}
	if (!list_empty(&sampler->nodes))
		ehs_load_queue(sampler, ehs_load_due_in(sampler));
unlock:
	mutex_unlock(&ehs_load_lock);
}

/**
 * ehs_load_wake - the load of a node is about to be read
 * @node: node
 * @resample: its load index has changed, so forget the smoothed value
 *
 * Sees to it that the node is sampled. If it was not, it gets a new sample now,
 * but only if the budget allows one. If not, the last look at the host is not
 * older than the budget demands, and has an answer for this node, too. Sleeps.
 */
void ehs_load_wake(struct ehs_node *node, bool resample)
{
	struct ehs_sampler *sampler = NULL;
	u64 wait = 1;

	mutex_lock(&ehs_load_lock);
	node->read_at = get_jiffies_64();
	if (resample) {
		list_del_init(&node->active);
		node->sampled_at = 0;
	}
	if (!list_empty(&node->active))
		goto unlock;
	sampler = ehs_load_sampler(node);
	if (!sampler)
		goto unlock;
	list_add_tail(&node->active, &sampler->nodes);
	wait = ehs_load_due_in(sampler);
	if (wait) {
		ehs_load_follow(sampler, node);
		ehs_load_queue(sampler, wait);
	} else {
		mod_delayed_work(ehs_wq, &sampler->work, 0);
	}
unlock:
	mutex_unlock(&ehs_load_lock);
	if (!wait)
		flush_work(&sampler->work.work);
}

/**
 * ehs_load_leave - the node ends: no sample for it any more
 * @node: node
 *
 * Sleeps, but not for a walk.
 */
void ehs_load_leave(struct ehs_node *node)
{
	mutex_lock(&ehs_load_lock);
	list_del_init(&node->active);
	mutex_unlock(&ehs_load_lock);
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
