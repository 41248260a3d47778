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
 */

#include "load.h"

#include <linux/cpumask.h>
#include <linux/kernel_stat.h>
#include <linux/ktime.h>
#include <linux/nsproxy.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "load_math.h"
#include "state.h"
#include "task.h"

/* One sampler for all nodes, because it must look at every thread anyway. */
static struct {
	struct mutex lock; /* held over a sample, which is long but does not sleep */
	struct delayed_work work;
	bool awake;
	u32 tick; /* samples so far, plus FADED; also read under any node's lock */
	u64 at_ns;
	u64 busy_ns;
	u64 walk_ns[2]; /* how long the last two walks took */
} ehs_sampler = {
	.lock = __MUTEX_INITIALIZER(ehs_sampler.lock),
	/* so that a new node's last sample was long ago */
	.tick = EHS_LOAD_FADED,
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
	return READ_ONCE(ehs_sampler.tick);
}

/**
 * ehs_load_unboost - the task has ended: remove what smoothing left of it
 * @node: node, locked
 * @boosted_at: from ehs_load_boost()
 */
void ehs_load_unboost(struct ehs_node *node, u32 boosted_at)
{
	u32 samples = READ_ONCE(ehs_sampler.tick) - boosted_at;

	lockdep_assert_held(&node->lock);
	node->smoothed = max(node->smoothed - ehs_load_left(samples), 0LL);
}

/*
 * Time that all online processors together have worked since boot. One that
 * comes online adds its whole past at once, and the ticks that this counts are
 * missing on NO_HZ_FULL processors: index cpu is wrong there.
 */
static u64 ehs_load_busy_ns(void)
{
	u64 busy = 0;
	int cpu;

	for_each_online_cpu(cpu) {
		const u64 *stat = kcpustat_cpu(cpu).cpustat;

		/* the processor may be writing them */
		busy += READ_ONCE(stat[CPUTIME_USER]) + READ_ONCE(stat[CPUTIME_NICE]) +
			READ_ONCE(stat[CPUTIME_SYSTEM]) + READ_ONCE(stat[CPUTIME_IRQ]) +
			READ_ONCE(stat[CPUTIME_SOFTIRQ]);
	}
	return busy;
}

/*
 * Counts the runnable threads of each node into node->runnable, without those
 * of stubs: their work is short, and in a burst of transfers it would look as
 * if the tasks that left were still here, and send too many after them.
 */
static void ehs_load_count_runnable(void)
{
	struct task_struct *process, *thread;
	u64 start = ktime_get_ns();

	lockdep_assert_held(&ehs_sampler.lock);
	rcu_read_lock();
	for_each_process_thread(process, thread) {
		if (READ_ONCE(thread->__state) != TASK_RUNNING ||
		    READ_ONCE(thread->flags) & PF_KTHREAD ||
		    ehs_task_is_away(task_tgid(thread)))
			continue;
		/* keeps the namespaces alive; few threads get this far */
		task_lock(thread);
		if (thread->nsproxy)
			ehs_node_of(thread->nsproxy->net_ns)->runnable++;
		task_unlock(thread);
	}
	rcu_read_unlock();
	ehs_sampler.walk_ns[1] = ehs_sampler.walk_ns[0];
	ehs_sampler.walk_ns[0] = ktime_get_ns() - start;
}

/* Whether the node needs samples: index tasks is exact without. */
static bool ehs_load_wanted(const struct ehs_node *node)
{
	return READ_ONCE(node->set.index) != EHS_INDEX_TASKS &&
	       (rcu_access_pointer(node->cgroups) || rcu_access_pointer(node->agent) ||
		time_before(jiffies, READ_ONCE(node->read_at) + EHS_LOAD_READ_JIFFIES));
}

/* Whether any node needs samples, and in *walk whether any of them needs the walk. */
static bool ehs_load_any_wanted(bool *walk)
{
	const struct ehs_node *node;
	bool any = false;

	*walk = false;
	spin_lock(&ehs_nodes_lock);
	list_for_each_entry(node, &ehs_nodes, list) {
		if (!ehs_load_wanted(node))
			continue;
		any = true;
		*walk |= READ_ONCE(node->set.index) == EHS_INDEX_RUNNABLE;
	}
	spin_unlock(&ehs_nodes_lock);
	return any;
}

/* The smoothed value is too old, or of another index. */
static bool ehs_load_stale(const struct ehs_node *node)
{
	lockdep_assert_held(&ehs_sampler.lock);
	return ehs_sampler.tick - node->sampled > EHS_LOAD_LATE;
}

/*
 * Return: how many samples the time since the last one makes; in *cpu_load the
 * busy processors.
 */
static unsigned int ehs_load_elapse(u64 *cpu_load)
{
	u64 now = ktime_get_ns(), busy = ehs_load_busy_ns();
	u64 elapsed = max_t(u64, now - ehs_sampler.at_ns, 1), worked;
	unsigned int samples;

	lockdep_assert_held(&ehs_sampler.lock);
	/* less when processors went offline: their time is not counted any more */
	worked = busy > ehs_sampler.busy_ns ? busy - ehs_sampler.busy_ns : 0;
	*cpu_load = ehs_load_busy(worked, elapsed, num_online_cpus());
	samples = ehs_load_samples(elapsed);
	/* keep the time between samples that came early */
	if (samples) {
		ehs_sampler.at_ns = now;
		ehs_sampler.busy_ns = busy;
		WRITE_ONCE(ehs_sampler.tick, ehs_sampler.tick + samples);
	}
	return samples;
}

/* Adds a sample to the smoothed values that are wanted; it replaces a stale one. */
static void ehs_load_sample(bool walk)
{
	struct ehs_node *node;
	unsigned int samples;
	u64 cpu_load;
	s64 target;

	lockdep_assert_held(&ehs_sampler.lock);
	samples = ehs_load_elapse(&cpu_load);
	if (walk)
		ehs_load_count_runnable();
	spin_lock(&ehs_nodes_lock);
	list_for_each_entry(node, &ehs_nodes, list) {
		target = node->runnable * 1000ULL;
		node->runnable = 0;
		if (!ehs_load_wanted(node))
			continue;
		raw_spin_lock(&node->lock);
		if (node->set.index == EHS_INDEX_CPU)
			target = cpu_load;
		target <<= EHS_LOAD_FRACTION;
		if (ehs_load_stale(node))
			node->smoothed = target;
		node->smoothed = ehs_load_smooth(node->smoothed, target, samples);
		node->sampled = ehs_sampler.tick;
		ehs_state_update(node);
		raw_spin_unlock(&node->lock);
	}
	spin_unlock(&ehs_nodes_lock);
}

/* The shorter of the last two walks counts: the other may have been interrupted. */
static void ehs_load_sample_later(bool walk)
{
	u64 walk_ns = walk ? min(ehs_sampler.walk_ns[0], ehs_sampler.walk_ns[1]) : 0;
	unsigned long delay = msecs_to_jiffies(ehs_load_interval_ms(walk_ns));

	lockdep_assert_held(&ehs_sampler.lock);
	/* one less, because a timer first waits for the end of the current jiffy */
	queue_delayed_work(ehs_wq, &ehs_sampler.work, max(delay, 2UL) - 1);
}

static void ehs_load_work(struct work_struct *work)
{
	bool walk;

	mutex_lock(&ehs_sampler.lock);
	ehs_sampler.awake = ehs_load_any_wanted(&walk);
	if (ehs_sampler.awake) {
		ehs_load_sample(walk);
		ehs_load_sample_later(walk);
	}
	mutex_unlock(&ehs_sampler.lock);
}

/**
 * ehs_load_wake - the load of a node is about to be read
 * @node: node
 * @resample: its load index has changed, so forget the smoothed value
 *
 * Takes a sample now if the node's last one is stale, and starts the sampler if
 * it is idle. After a change of index this walks all threads at once, whatever
 * EHS_LOAD_WALK_PART says. Sleeps.
 */
void ehs_load_wake(struct ehs_node *node, bool resample)
{
	bool walk;

	mutex_lock(&ehs_sampler.lock);
	WRITE_ONCE(node->read_at, jiffies);
	if (!ehs_load_wanted(node))
		goto unlock;
	if (resample)
		node->sampled = ehs_sampler.tick - EHS_LOAD_FADED;
	if (ehs_sampler.awake && !ehs_load_stale(node))
		goto unlock;
	ehs_load_any_wanted(&walk);
	ehs_load_sample(walk);
	if (!ehs_sampler.awake)
		ehs_load_sample_later(walk);
	ehs_sampler.awake = true;
unlock:
	mutex_unlock(&ehs_sampler.lock);
}

void ehs_load_init(void)
{
	INIT_DELAYED_WORK(&ehs_sampler.work, ehs_load_work);
	ehs_sampler.at_ns = ktime_get_ns();
	ehs_sampler.busy_ns = ehs_load_busy_ns();
}

/* After the netlink family is gone, so that nothing wakes the sampler again. */
void ehs_load_exit(void)
{
	cancel_delayed_work_sync(&ehs_sampler.work);
}
