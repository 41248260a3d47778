// SPDX-License-Identifier: GPL-2.0-only
/* Nodes: one for each network namespace, created and ended with it. */

#include "node.h"

#include <linux/cgroup.h>
#include <linux/cpumask.h>
#include <linux/nsproxy.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "agent.h"
#include "leave.h"
#include "load.h"
#include "state.h"
#include "task.h"

struct workqueue_struct *ehs_wq, *ehs_node_wq, *ehs_check_wq;

static unsigned int ehs_net_id __read_mostly;
/* All nodes by serial, which begins at 1. */
static DEFINE_XARRAY_ALLOC1(ehs_nodes);
static u32 ehs_node_serial;

/**
 * ehs_node_of - the node of a network namespace
 * @net: a live namespace
 */
struct ehs_node *ehs_node_of(const struct net *net)
{
	return net_generic(net, ehs_net_id);
}

/**
 * ehs_node_next - the next of all nodes
 * @serial: find the first node after this serial; set to that of the node found
 *
 * The caller is in an RCU read section, and may use the node until its end: a
 * node is removed here in pre_exit, and between that and exit, after which it is
 * freed, there is a grace period, when a namespace ends as well as when the
 * module is unloaded. New nodes come last, except that serials begin again
 * after 2^31 namespaces.
 *
 * Return: the node or NULL.
 */
struct ehs_node *ehs_node_next(u64 *serial)
{
	unsigned long index = *serial + 1;
	struct ehs_node *node;

	node = xa_find(&ehs_nodes, &index, ULONG_MAX, XA_PRESENT);
	if (node)
		*serial = index;
	return node;
}

/**
 * ehs_node_kind - what a task is to @node
 * @node: a node, usually that of the task's network namespace
 * @task: current, or a task that cannot go away
 *
 * Called by every exec on the host: one load and one test for nodes that manage
 * nothing, a few loads for the others, never a lock.
 */
enum ehs_kind ehs_node_kind(const struct ehs_node *node, struct task_struct *task)
{
	const struct ehs_cgroups *cgroups;
	enum ehs_kind kind = EHS_KIND_OTHER;
	struct cgroup *cgrp;
	unsigned int i;

	rcu_read_lock();
	cgroups = rcu_dereference(node->cgroups);
	if (likely(!cgroups))
		goto unlock;
	cgrp = task_dfl_cgroup(task);
	/* first, so that a guest cgroup may be below a managed one */
	if (cgroups->guest && cgroup_is_descendant(cgrp, cgroups->guest)) {
		kind = EHS_KIND_GUEST;
		goto unlock;
	}
	if (cgroups->always && cgroup_is_descendant(cgrp, cgroups->always)) {
		kind = EHS_KIND_ALWAYS;
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
 * ehs_node_has - whether a task is in the network namespace of a node
 * @node: node
 * @task: a task that is referenced; one that has ended is in none
 */
bool ehs_node_has(const struct ehs_node *node, struct task_struct *task)
{
	bool has;

	task_lock(task);
	has = task->nsproxy && task->nsproxy->net_ns == node->net;
	task_unlock(task);
	return has;
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
	if (cgroups->always)
		cgroup_put(cgroups->always);
	kfree(cgroups);
}

static void ehs_cgroups_free_rcu(struct rcu_head *rcu)
{
	ehs_cgroups_free(container_of(rcu, struct ehs_cgroups, rcu));
}

/**
 * ehs_node_changed - settings or cgroups of a node have been changed
 * @node: node
 * @old: the set of cgroups that was replaced, or NULL; freed
 * @regrouped: whether the cgroups are others now
 *
 * Execs under way may still compare with the old set, which is freed after a grace
 * period. That is not waited for here: locks of netlink are held, and many callers
 * would wait for as many grace periods, one after the other.
 */
void ehs_node_changed(struct ehs_node *node, struct ehs_cgroups *old, bool regrouped)
{
	if (old)
		call_rcu(&old->rcu, ehs_cgroups_free_rcu);
	if (regrouped)
		ehs_leave_regrouped(node);
	ehs_load_wake(node);
	raw_spin_lock(&node->lock);
	ehs_state_update(node);
	raw_spin_unlock(&node->lock);
}

static int __net_init ehs_node_net_init(struct net *net)
{
	struct ehs_node *node = ehs_node_of(net);
	int err;

	/* allocated zeroed */
	node->net = net;
	raw_spin_lock_init(&node->lock);
	node->tasks = RB_ROOT;
	ehs_leave_init(node);
	INIT_LIST_HEAD(&node->active);
	hash_init(node->requests);
	node->set = (struct ehs_settings){
		.threshold = EHS_THRESHOLD_UNSET,
		.length = 1000,
		.index = EHS_INDEX_RUNNABLE,
		.weight = 1000,
		.time_limit = 100,
		.dwell = 1000,
		.max_time_limit = EHS_MAX_TIME_LIMIT,
		.max_requests = EHS_MAX_REQUESTS,
	};
	node->salt = get_random_u32();
	ehs_state_init(node);
	/* last: others find it from here on; they need no serial */
	err = xa_alloc_cyclic(&ehs_nodes, &node->serial, node, xa_limit_31b, &ehs_node_serial,
			      GFP_KERNEL_ACCOUNT);
	/* 1 when the serials have begun again */
	return min(err, 0);
}

/*
 * Nothing looks the node up by its namespace any more: either that has no task
 * and no user socket left, or the module is being removed and nothing runs in
 * its code. What still refers to the node is the array of all nodes, its sampler,
 * and records of tasks that have moved to another namespace. A grace period
 * follows, so that after it nobody has the node from one of these.
 */
static void __net_exit ehs_node_net_pre_exit(struct net *net)
{
	struct ehs_node *node = ehs_node_of(net);

	xa_erase(&ehs_nodes, node->serial);
	ehs_task_forget_node(node);
}

static void __net_exit ehs_node_net_exit(struct net *net)
{
	struct ehs_node *node = ehs_node_of(net);

	ehs_load_leave(node);
	ehs_agent_drop(node);
	ehs_leave_end(node);
	cancel_delayed_work_sync(&node->tell);
	ehs_cgroups_free(rcu_dereference_raw(node->cgroups));
}

static struct pernet_operations ehs_node_net_ops = {
	.init = ehs_node_net_init,
	.pre_exit = ehs_node_net_pre_exit,
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
	err = -ENOMEM;
	ehs_node_wq = alloc_ordered_workqueue("ehsched-nodes", 0);
	if (!ehs_node_wq)
		goto destroy_wq;
	ehs_check_wq = alloc_ordered_workqueue("ehsched-checks", 0);
	if (!ehs_check_wq)
		goto destroy_node_wq;
	err = register_pernet_subsys(&ehs_node_net_ops);
	if (err)
		goto destroy_check_wq;
	return 0;

destroy_check_wq:
	destroy_workqueue(ehs_check_wq);
destroy_node_wq:
	destroy_workqueue(ehs_node_wq);
destroy_wq:
	destroy_workqueue(ehs_wq);
	return err;
}

void ehs_node_exit(void)
{
	unregister_pernet_subsys(&ehs_node_net_ops);
	destroy_workqueue(ehs_check_wq);
	destroy_workqueue(ehs_node_wq);
	destroy_workqueue(ehs_wq);
}
