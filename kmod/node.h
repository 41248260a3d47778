/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_NODE_H
#define _EHS_NODE_H

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/netdevice.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <linux/ehsched.h>

#include "bucket.h"

/* No threshold was set: it is the number of processors, which come and go. */
#define EHS_THRESHOLD_UNSET U32_MAX

struct cgroup;
struct ehs_agent;
struct ehs_sampler;
struct task_struct;

/**
 * struct ehs_cgroups - the cgroups of a node; never changed, only replaced
 * @n: used entries of @managed
 * @managed: tasks in these cgroups and in all below them may be transferred
 * @guest: tasks in this cgroup came from other nodes; or NULL
 * @always: managed, and an exec there is placed whatever the node's state; or NULL
 * @rcu: frees a set that was replaced
 */
struct ehs_cgroups {
	unsigned int n;
	struct cgroup *managed[EHS_MAX_CGROUPS];
	struct cgroup *guest;
	struct cgroup *always;
	struct rcu_head rcu;
};

/**
 * struct ehs_settings - what NODE_SET changes; units as in uapi/ehsched.yaml
 * @threshold: the load that the node should have, thousandths of a task; or
 *	EHS_THRESHOLD_UNSET
 * @length: threshold length: how far from @threshold the load may be
 * @index: enum ehs_load_index
 * @weight: load of one task with EHS_INDEX_TASKS, thousandths
 * @time_limit: milliseconds an exec waits for a verdict
 * @dwell: milliseconds of low load before the node is a receiver
 * @no_new_privs: 1 if tasks with no_new_privs may be transferred, unless
 *	EHS_LANDLOCK_HIDES
 * @max_time_limit: the largest @time_limit that may be set
 * @max_requests: execs that may wait at once
 * @processors: the agent is asked when as many tasks run as this; 0: when the node is a
 *	sender
 */
struct ehs_settings {
	u32 threshold;
	u32 length;
	u32 index;
	u32 weight;
	u32 time_limit;
	u32 dwell;
	u32 no_new_privs;
	u32 max_time_limit;
	u32 max_requests;
	u32 processors;
};

/**
 * struct ehs_notice - what subscribers of the multicast group were told last
 * @state: enum ehs_state
 * @threshold: from ehs_node_threshold()
 * @length: as in struct ehs_settings
 * @port: netlink port of the agent, 0 for none
 */
struct ehs_notice {
	u32 state;
	u32 threshold;
	u32 length;
	u32 port;
};

/**
 * struct ehs_walk_count - runnable threads of a node, as one walk saw them
 * @walk: number of the walk
 * @runnable: their number
 */
struct ehs_walk_count {
	u64 walk;
	u32 runnable;
};

/**
 * struct ehs_node - one network namespace, as a unit that has load and takes part
 * in load sharing; usually the initial namespace of a host
 *
 * Lock order: the lock of a chain of records (task.c) or of the samplers
 * (load.c), then @lock. Under @lock none of ours is taken, and nothing sleeps.
 *
 * @net: the namespace; it owns the node, so no reference is held
 * @serial: number among the nodes that there are, see ehs_node_next()
 * @lock: guards all below, unless said otherwise; raw, because the probe of exits
 *	takes it with preemption off
 * @set: settings
 * @cgroups: RCU, replaced under @lock; NULL while nothing is managed
 * @agent: RCU, replaced under @lock
 * @counts: records by enum ehs_task_state
 * @tasks: records, by serial
 * @task_serial: serial of the last record that was made
 * @moved: records whose tasks were moved to another cgroup; no lock
 * @check_moved: removes those of them whose tasks have left the cgroups
 * @check: the same for all records, after the cgroups have changed
 * @requests: execs that wait for a verdict, by cookie
 * @nr_requests: number of @requests
 * @nr_requests_of: the same of the users whose hash it is, see ehs_node_bucket()
 * @salt: of these hashes; never changed
 * @smoothed: load of the indexes runnable and cpu, 1/1024 of a thousandth
 * @samples: samples that @smoothed has followed, in periods of EHS_LOAD_SAMPLE_MS
 * @sampled_at: when the last of them was taken, ns; 0 when the next one is to replace it
 * @low: load is below threshold - length
 * @low_since: 64-bit jiffies when it became so
 * @notice: what subscribers were told last
 * @notice_at: 64-bit jiffies when they were told
 * @tell: tells them, and ends the dwell time
 * @tell_due: 64-bit jiffies when @tell runs, if it is pending
 * @counters: execs by enum ehs_reason
 * @sampler: the sampler that samples it, or NULL; guarded by the samplers' lock
 * @active: in the nodes of @sampler; guarded by the same
 * @read_at: 64-bit jiffies when the load was last asked for; guarded by the same
 * @walk_counts: used by the walk only (walk.c)
 */
struct ehs_node {
	struct net *net;
	u32 serial;

	raw_spinlock_t lock;
	struct ehs_settings set;
	struct ehs_cgroups __rcu *cgroups;
	struct ehs_agent __rcu *agent;
	u32 counts[EHS_TASK_MAX + 1];
	struct rb_root tasks;
	u64 task_serial;
	struct llist_head moved;
	struct work_struct check_moved;
	struct delayed_work check;
	DECLARE_HASHTABLE(requests, 6);
	u32 nr_requests;
	u16 nr_requests_of[EHS_BUCKETS];
	u32 salt;
	s64 smoothed;
	u32 samples;
	u64 sampled_at;
	bool low;
	u64 low_since;
	struct ehs_notice notice;
	u64 notice_at;
	struct delayed_work tell;
	u64 tell_due;
	atomic64_t counters[EHS_REASON_MAX + 1];

	struct ehs_sampler *sampler;
	struct list_head active;
	u64 read_at;
	struct ehs_walk_count walk_counts[2];
};

/**
 * enum ehs_kind - what a task is to its node
 * @EHS_KIND_OTHER: in none of the node's cgroups; left alone
 * @EHS_KIND_MANAGED: may be transferred
 * @EHS_KIND_GUEST: came from another node
 * @EHS_KIND_ALWAYS: managed, and the agent is asked whatever the node's state
 */
enum ehs_kind {
	EHS_KIND_OTHER,
	EHS_KIND_MANAGED,
	EHS_KIND_GUEST,
	EHS_KIND_ALWAYS,
};

static inline bool ehs_kind_is_managed(enum ehs_kind kind)
{
	return kind == EHS_KIND_MANAGED || kind == EHS_KIND_ALWAYS;
}

/*
 * Users can make as many nodes as they can make namespaces. So the samplers and the
 * host's own node have a queue to themselves. What the others cause runs in two that
 * are ordered, their checks of all their records apart from what is short: no more
 * than one processor has to do with either.
 */
extern struct workqueue_struct *ehs_wq, *ehs_node_wq, *ehs_check_wq;

/*
 * For memory that a message asks for, charged to the caller. If his memory cgroup is
 * full, what can be taken back at once is, and then the call fails: netlink's locks
 * are held, and under them nobody is killed, nor waited for to die.
 */
#define EHS_GFP (GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/* Whether it is the node of the initial namespace, which stands for the host. */
static inline bool ehs_node_is_host(const struct ehs_node *node)
{
	return net_eq(node->net, &init_net);
}

static inline u32 ehs_node_threshold(const struct ehs_node *node)
{
	u32 threshold = node->set.threshold;

	return threshold == EHS_THRESHOLD_UNSET ? num_online_cpus() * 1000 : threshold;
}

/* Which users are in one bucket is not known to them. */
static inline u32 ehs_node_bucket(const struct ehs_node *node, kuid_t uid)
{
	return hash_32(__kuid_val(uid) ^ node->salt, EHS_BUCKET_BITS);
}

/* For the node's announcements, and the records of tasks that were moved. */
static inline struct workqueue_struct *ehs_node_queue(const struct ehs_node *node)
{
	return ehs_node_is_host(node) ? ehs_wq : ehs_node_wq;
}

struct ehs_node *ehs_node_of(const struct net *net);
struct ehs_node *ehs_node_next(u64 *serial);
bool ehs_node_has(const struct ehs_node *node, struct task_struct *task);
enum ehs_kind ehs_node_kind(const struct ehs_node *node, struct task_struct *task);
void ehs_node_changed(struct ehs_node *node, struct ehs_cgroups *old, bool regrouped);
void ehs_cgroups_free(struct ehs_cgroups *cgroups);

int ehs_node_init(void);
void ehs_node_exit(void);

#endif /* _EHS_NODE_H */
