// SPDX-License-Identifier: GPL-2.0-only
/* Nodes: one for each network namespace, created and ended with it. */

#include "node.h"

#include <linux/cgroup.h>
#include <linux/cpumask.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "agent.h"
#include "load.h"
#include "request.h"
#include "state.h"
#include "task.h"

LIST_HEAD(ehs_nodes);
DEFINE_SPINLOCK(ehs_nodes_lock);
struct workqueue_struct *ehs_wq;

static unsigned int ehs_net_id __read_mostly;
static u64 ehs_node_serial;

/**
 * ehs_node_of - the node of a network namespace
 * @net: a live namespace
 */
struct ehs_node *ehs_node_of(const struct net *net)
{
	return net_generic(net, ehs_net_id);
}

/**
 * ehs_node_kind - what the current task is to @node
 * @node: node of the task's network namespace
 *
 * Called by every exec on the host: one load and one test for nodes that manage
 * nothing, a few loads for the others, never a lock.
 */
enum ehs_kind ehs_node_kind(const struct ehs_node *node)
{
	const struct ehs_cgroups *cgroups;
	enum ehs_kind kind = EHS_KIND_OTHER;
	struct cgroup *cgrp;
	unsigned int i;

	rcu_read_lock();
	cgroups = rcu_dereference(node->cgroups);
	if (likely(!cgroups))
		goto unlock;
	cgrp = task_dfl_cgroup(current);
	/* first, so that a guest cgroup may be below a managed one */
	if (cgroups->guest && cgroup_is_descendant(cgrp, cgroups->guest)) {
		kind = EHS_KIND_GUEST;
		goto unlock;
	}
	for (i = 0; i < cgroups->n; i++) {
		if (cgroup_is_descendant(cgrp, cgroups->managed[i])) {
			kind = EHS_KIND_MANAGED;
			break;
		}
	}
unlock:
	rcu_read_unlock();
	return kind;
}

/**
 * ehs_cgroups_free - release a set of cgroups that nothing refers to any more
 * @cgroups: the set or NULL
 */
void ehs_cgroups_free(struct ehs_cgroups *cgroups)
{
	unsigned int i;

	if (!cgroups)
		return;
	for (i = 0; i < cgroups->n; i++)
		cgroup_put(cgroups->managed[i]);
	if (cgroups->guest)
		cgroup_put(cgroups->guest);
	kfree(cgroups);
}

/**
 * ehs_node_set - change settings that have been checked; cannot fail
 * @node: the node, its config mutex held
 * @set: all settings
 * @cgroups: new set of cgroups or NULL; the node owns it from now on
 * @swap: whether @cgroups replaces the old set
 *
 * Sleeps for a grace period if @swap.
 */
void ehs_node_set(struct ehs_node *node, const struct ehs_settings *set,
		  struct ehs_cgroups *cgroups, bool swap)
{
	bool resample;

	lockdep_assert_held(&node->config);

	raw_spin_lock(&node->lock);
	resample = node->set.index != set->index;
	node->set = *set;
	raw_spin_unlock(&node->lock);

	if (swap) {
		cgroups =
			rcu_replace_pointer(node->cgroups, cgroups, lockdep_is_held(&node->config));
		if (cgroups) {
			/* execs under way may still compare with the old set */
			synchronize_rcu();
			ehs_cgroups_free(cgroups);
		}
	}

	ehs_load_wake(node, resample);
	raw_spin_lock(&node->lock);
	ehs_state_update(node);
	raw_spin_unlock(&node->lock);
}

static int __net_init ehs_node_net_init(struct net *net)
{
	struct ehs_node *node = ehs_node_of(net);

	/* allocated zeroed */
	node->net = net;
	mutex_init(&node->config);
	raw_spin_lock_init(&node->lock);
	INIT_LIST_HEAD(&node->tasks);
	hash_init(node->requests);
	node->set = (struct ehs_settings){
		.threshold = num_online_cpus() * 1000,
		.length = 1000,
		.index = EHS_INDEX_RUNNABLE,
		.weight = 1000,
		.time_limit = 100,
		.dwell = 1000,
	};
	ehs_state_init(node);
	node->read_at = jiffies - EHS_LOAD_READ_JIFFIES - 1;

	spin_lock(&ehs_nodes_lock);
	node->serial = ++ehs_node_serial;
	list_add_tail(&node->list, &ehs_nodes);
	spin_unlock(&ehs_nodes_lock);
	return 0;
}

/*
 * Nothing looks the node up any more: either the namespace has no task and no
 * user socket left, or the module is being removed and nothing runs in its code.
 * What still refers to the node is the list, and records of tasks that have
 * moved to another namespace.
 */
static void __net_exit ehs_node_net_exit(struct net *net)
{
	struct ehs_node *node = ehs_node_of(net);

	spin_lock(&ehs_nodes_lock);
	list_del(&node->list);
	spin_unlock(&ehs_nodes_lock);

	ehs_request_release(node, EHS_REASON_UNLOADING);
	ehs_task_forget_node(node);
	ehs_agent_drop(node);
	cancel_delayed_work_sync(&node->tell);
	ehs_cgroups_free(rcu_dereference_raw(node->cgroups));
}

static struct pernet_operations ehs_node_net_ops = {
	.init = ehs_node_net_init,
	.exit = ehs_node_net_exit,
	.id = &ehs_net_id,
	.size = sizeof(struct ehs_node),
};

int ehs_node_init(void)
{
	int err;

	ehs_wq = alloc_workqueue("ehsched", WQ_UNBOUND | WQ_HIGHPRI, 0);
	if (!ehs_wq)
		return -ENOMEM;
	err = register_pernet_subsys(&ehs_node_net_ops);
	if (err)
		goto destroy_wq;
	return 0;

destroy_wq:
	destroy_workqueue(ehs_wq);
	return err;
}

void ehs_node_exit(void)
{
	unregister_pernet_subsys(&ehs_node_net_ops);
	destroy_workqueue(ehs_wq);
}
