/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_NODE_H
#define _EHS_NODE_H

#include <linux/atomic.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/ehsched.h>

struct cgroup;
struct ehs_agent;

/**
 * struct ehs_cgroups - the cgroups of a node; never changed, only replaced
 * @n: used entries of @managed
 * @managed: tasks in these cgroups and in all below them may be transferred
 * @guest: tasks in this cgroup came from other nodes; or NULL
 */
struct ehs_cgroups {
	unsigned int n;
	struct cgroup *managed[EHS_MAX_CGROUPS];
	struct cgroup *guest;
};

/**
 * struct ehs_settings - what NODE_SET changes; units as in uapi/ehsched.yaml
 * @threshold: the load that the node should have, thousandths of a task
 * @length: threshold length: how far from @threshold the load may be
 * @index: enum ehs_load_index
 * @weight: load of one task with EHS_INDEX_TASKS, thousandths
 * @time_limit: milliseconds an exec waits for a verdict
 * @dwell: milliseconds of low load before the node is a receiver
 */
struct ehs_settings {
	u32 threshold;
	u32 length;
	u32 index;
	u32 weight;
	u32 time_limit;
	u32 dwell;
};

/**
 * struct ehs_told - what subscribers of the multicast group were told last
 * @state: enum ehs_state
 * @threshold: as in struct ehs_settings
 * @length: as in struct ehs_settings
 * @port: netlink port of the agent, 0 for none
 */
struct ehs_told {
	u32 state;
	u32 threshold;
	u32 length;
	u32 port;
};

/**
 * struct ehs_node - one network namespace, as a unit that has load and takes part
 * in load sharing; usually the initial namespace of a host
 *
 * Lock order: the lock of the task records (task.c) or ehs_nodes_lock, then
 * @lock. Under @lock only locks of the workqueue are taken, and nothing sleeps.
 *
 * @net: the namespace; it owns the node, so no reference is held
 * @list: in ehs_nodes
 * @serial: position in ehs_nodes, for dumps that go on in another message
 * @config: held over a NODE_SET, which sleeps
 * @cgroups: RCU, replaced under @config; NULL while nothing is managed
 * @lock: guards all below, unless said otherwise; raw, because the probe of exits
 *	takes it with preemption off
 * @set: settings
 * @agent: RCU, replaced under @lock
 * @counts: records by enum ehs_task_state
 * @tasks: records, oldest first; guarded by the lock of the task records
 * @requests: execs that wait for a verdict, by cookie
 * @nr_requests: number of @requests
 * @smoothed: load of the indexes runnable and cpu, 1/1024 of a thousandth
 * @runnable: runnable threads seen by the walk under way; used by the sampler only
 * @sampled: the sampler's tick at the last sample; used by the sampler only
 * @low: load is below threshold - length
 * @low_since: jiffies when it became so
 * @read_at: jiffies when the load was last asked for; keeps the sampler awake
 * @told: what subscribers were told last
 * @told_at: jiffies when they were told
 * @tell: tells them, and ends the dwell time
 * @tell_due: jiffies when @tell runs, if it is pending
 * @counters: execs by enum ehs_reason
 */
struct ehs_node {
	struct net *net;
	struct list_head list;
	u64 serial;
	struct mutex config;
	struct ehs_cgroups __rcu *cgroups;

	raw_spinlock_t lock;
	struct ehs_settings set;
	struct ehs_agent __rcu *agent;
	u32 counts[EHS_TASK_MAX + 1];
	struct list_head tasks;
	DECLARE_HASHTABLE(requests, 6);
	u32 nr_requests;
	s64 smoothed;
	u32 runnable;
	u32 sampled;
	bool low;
	unsigned long low_since;
	unsigned long read_at;
	struct ehs_told told;
	unsigned long told_at;
	struct delayed_work tell;
	unsigned long tell_due;
	atomic64_t counters[EHS_REASON_MAX + 1];
};

/**
 * enum ehs_kind - what a task is to its node
 * @EHS_KIND_OTHER: in none of the node's cgroups; left alone
 * @EHS_KIND_MANAGED: may be transferred
 * @EHS_KIND_GUEST: came from another node
 */
enum ehs_kind {
	EHS_KIND_OTHER,
	EHS_KIND_MANAGED,
	EHS_KIND_GUEST,
};

/* All nodes, by ascending serial; for walks that do not sleep. */
extern struct list_head ehs_nodes;
extern spinlock_t ehs_nodes_lock;

/* For all periodic and deferred work of the module. */
extern struct workqueue_struct *ehs_wq;

struct ehs_node *ehs_node_of(const struct net *net);
enum ehs_kind ehs_node_kind(const struct ehs_node *node);
void ehs_node_set(struct ehs_node *node, const struct ehs_settings *set,
		  struct ehs_cgroups *cgroups, bool swap);
void ehs_cgroups_free(struct ehs_cgroups *cgroups);

int ehs_node_init(void);
void ehs_node_exit(void);

#endif /* _EHS_NODE_H */
