// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of managed tasks, stubs and guests, by thread group. The record of
 * the current task stays while the task is in the kernel: only the exit of its
 * last thread or of its node's namespace removes it.
 */

#include <linux/cgroup.h>
#include <linux/hashtable.h>
#include <linux/ktime.h>
#include <linux/nsproxy.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <net/netlink.h>
#include <trace/events/sched.h>

#include "compat/compat.h"
#include "load.h"
#include "state.h"
#include "task.h"
#include "trace.h"

static DEFINE_HASHTABLE(ehs_task_table, 10);
/* Guards the table, the nodes' lists and all records; outside a node's lock. */
static DEFINE_SPINLOCK(ehs_task_lock);
static unsigned int ehs_task_number;
static unsigned int ehs_task_number_away; /* written under ehs_task_lock */
static u64 ehs_task_serial;
static struct tracepoint *ehs_task_exit_point;

static struct ehs_task *ehs_task_find(const struct pid *tgid)
{
	struct ehs_task *task;

	hash_for_each_possible_rcu(ehs_task_table, task, hash, (unsigned long)tgid,
				   lockdep_is_held(&ehs_task_lock)) {
		if (task->tgid == tgid)
			return task;
	}
	return NULL;
}

/**
 * ehs_task_is_away - is this a stub, whose work is on another node?
 * @tgid: thread group; the caller is in an RCU read section
 */
bool ehs_task_is_away(const struct pid *tgid)
{
	const struct ehs_task *task;

	/* asked for every runnable thread of the machine */
	if (!READ_ONCE(ehs_task_number_away))
		return false;
	task = ehs_task_find(tgid);
	return task && READ_ONCE(task->state) == EHS_TASK_AWAY;
}

/**
 * ehs_task_is_away_from - is this a stub of @node?
 * @node: node
 * @tgid: thread group, referenced
 */
bool ehs_task_is_away_from(const struct ehs_node *node, const struct pid *tgid)
{
	const struct ehs_task *task;
	bool away;

	spin_lock(&ehs_task_lock);
	task = ehs_task_find(tgid);
	away = task && task->node == node && task->state == EHS_TASK_AWAY;
	spin_unlock(&ehs_task_lock);
	return away;
}

static void ehs_task_count_away(int more)
{
	lockdep_assert_held(&ehs_task_lock);
	WRITE_ONCE(ehs_task_number_away, ehs_task_number_away + more);
}

/* The count follows the state, and the load what runs here. */
static void ehs_task_set_state(struct ehs_task *task, enum ehs_task_state state)
{
	struct ehs_node *node = task->node;

	lockdep_assert_held(&ehs_task_lock);
	spin_lock(&node->lock);
	node->counts[task->state]--;
	node->counts[state]++;
	ehs_task_count_away((state == EHS_TASK_AWAY) - (task->state == EHS_TASK_AWAY));
	WRITE_ONCE(task->state, state);
	if (state == EHS_TASK_AWAY) {
		if (task->running)
			ehs_load_unboost(node, task->boosted_at);
		task->running = false;
	} else if (state != EHS_TASK_PENDING && !task->running) {
		task->boosted_at = ehs_load_boost(node);
		task->running = true;
	}
	ehs_state_update(node);
	spin_unlock(&node->lock);
}

static void ehs_task_insert(struct ehs_task *task, struct ehs_node *node, struct pid *tgid)
{
	lockdep_assert_held(&ehs_task_lock);
	task->node = node;
	task->tgid = get_pid(tgid);
	task->serial = ++ehs_task_serial;
	task->state = EHS_TASK_PENDING;
	spin_lock(&node->lock);
	node->counts[EHS_TASK_PENDING]++;
	spin_unlock(&node->lock);
	list_add_tail(&task->list, &node->tasks);
	hash_add_rcu(ehs_task_table, &task->hash, (unsigned long)tgid);
	WRITE_ONCE(ehs_task_number, ehs_task_number + 1);
}

static void ehs_task_remove(struct ehs_task *task)
{
	struct ehs_node *node = task->node;

	lockdep_assert_held(&ehs_task_lock);
	trace_ehs_finish(task);
	spin_lock(&node->lock);
	node->counts[task->state]--;
	if (task->running)
		ehs_load_unboost(node, task->boosted_at);
	ehs_state_update(node);
	spin_unlock(&node->lock);

	ehs_task_count_away(-(task->state == EHS_TASK_AWAY));
	list_del(&task->list);
	hash_del_rcu(&task->hash);
	WRITE_ONCE(ehs_task_number, ehs_task_number - 1);
	/* readers of the chain only compare the address, and look again locked */
	put_pid(task->tgid);
	kfree_rcu(task, rcu);
}

/*
 * Finds the record of @tgid if it is @node's. One of another node is removed:
 * the task went to another namespace and does not keep that node in place.
 */
static struct ehs_task *ehs_task_find_here(const struct pid *tgid, const struct ehs_node *node)
{
	struct ehs_task *task = ehs_task_find(tgid);

	lockdep_assert_held(&ehs_task_lock);
	if (task && task->node != node) {
		ehs_task_remove(task);
		task = NULL;
	}
	return task;
}

static struct ehs_task *ehs_task_alloc(void)
{
	return kzalloc(sizeof(struct ehs_task), GFP_KERNEL_ACCOUNT);
}

/**
 * ehs_task_enter - the current task calls exec
 * @node: its node
 * @id: cookie of this placement
 * @path: program
 * @reason: set to why it is not to be placed, as far as its record knows
 *
 * If the exec fails later the record stays, as its task does; it then shows
 * the program that could not be started.
 *
 * Return: the record, valid until current returns to user space; NULL if there
 * is no memory for one.
 */
struct ehs_task *ehs_task_enter(struct ehs_node *node, u64 id, const char *path,
				enum ehs_reason *reason)
{
	struct pid *tgid = task_tgid(current);
	struct ehs_task *task, *spare = NULL;

	*reason = EHS_REASON_NONE;
	spin_lock(&ehs_task_lock);
	task = ehs_task_find_here(tgid, node);
	if (!task) {
		spin_unlock(&ehs_task_lock);
		spare = ehs_task_alloc();
		if (!spare) {
			*reason = EHS_REASON_NO_MEMORY;
			return NULL;
		}
		spin_lock(&ehs_task_lock);
		/* a bypass may have come in between */
		task = ehs_task_find_here(tgid, node);
		if (!task) {
			task = spare;
			spare = NULL;
			ehs_task_insert(task, node, tgid);
		}
	}
	if (task->bypass)
		*reason = EHS_REASON_BYPASS;
	else if (task->placed)
		*reason = EHS_REASON_PLACED;
	task->bypass = false;
	task->id = id;
	task->started = ktime_get_real_ns();
	task->started_at = ktime_get_ns();
	task->uid = current_uid();
	strscpy(task->command, kbasename(path), sizeof(task->command));
	rcu_read_lock();
	task->cgroup = cgroup_id(task_dfl_cgroup(current));
	rcu_read_unlock();
	spin_unlock(&ehs_task_lock);
	kfree(spare);
	return task;
}

/**
 * ehs_task_wait - the agent is being asked
 * @task: of current
 */
void ehs_task_wait(struct ehs_task *task)
{
	spin_lock(&ehs_task_lock);
	ehs_task_set_state(task, EHS_TASK_PENDING);
	spin_unlock(&ehs_task_lock);
}

/**
 * ehs_task_settle - it is decided where the task is to run
 * @task: of current
 * @state: local, away or guest
 * @reason: why
 */
void ehs_task_settle(struct ehs_task *task, enum ehs_task_state state, enum ehs_reason reason)
{
	spin_lock(&ehs_task_lock);
	task->reason = reason;
	if (state == EHS_TASK_AWAY)
		task->placed = true;
	ehs_task_set_state(task, state);
	spin_unlock(&ehs_task_lock);
}

/*
 * Makes a record for another task, if it lives. Its exit may run at the same
 * time: it lowers signal->live, then looks for a record. Here the record is
 * inserted, then live is looked at: one of the two sees the other.
 */
static int ehs_task_insert_other(struct ehs_task *task, struct ehs_node *node,
				 struct task_struct *other)
{
	lockdep_assert_held(&ehs_task_lock);
	task->started = ktime_get_real_ns();
	task->started_at = ktime_get_ns();
	task->uid = task_uid(other);
	get_task_comm(task->command, other);
	task->cgroup = cgroup_id(task_dfl_cgroup(other));
	ehs_task_insert(task, node, task_tgid(other));
	ehs_task_set_state(task, EHS_TASK_LOCAL);
	/* pairs with the full barrier of atomic_dec_and_test() in do_exit() */
	smp_mb();
	if (atomic_read(&other->signal->live))
		return 0;
	ehs_task_remove(task);
	return -ESRCH;
}

/**
 * ehs_task_bypass - leave the next exec of a task alone
 * @node: node of the caller
 * @pid: the task's process id
 * @extack: for the text of a refusal
 *
 * Return: 0, -ESRCH if there is no such task in the node, -EINVAL for a kernel
 * thread, -ENOMEM.
 */
int ehs_task_bypass(struct ehs_node *node, struct pid *pid, struct netlink_ext_ack *extack)
{
	struct ehs_task *task, *spare = ehs_task_alloc();
	struct task_struct *other;
	bool here = false;
	int err = -ESRCH;

	if (!spare)
		return -ENOMEM;
	rcu_read_lock();
	other = pid_task(pid, PIDTYPE_PID);
	if (other) {
		task_lock(other);
		here = other->nsproxy && other->nsproxy->net_ns == node->net;
		task_unlock(other);
	}
	if (!here) {
		NL_SET_ERR_MSG(extack, "no such task in this network namespace");
		goto unlock;
	}
	/* it has no exec to come, and its record would be counted for good */
	if (other->flags & PF_KTHREAD) {
		NL_SET_ERR_MSG(extack, "a kernel thread calls no exec");
		err = -EINVAL;
		goto unlock;
	}
	spin_lock(&ehs_task_lock);
	task = ehs_task_find_here(task_tgid(other), node);
	err = 0;
	if (!task) {
		task = spare;
		spare = NULL;
		err = ehs_task_insert_other(task, node, other);
	}
	if (err)
		NL_SET_ERR_MSG(extack, "the task has just ended");
	else
		task->bypass = true;
	spin_unlock(&ehs_task_lock);
unlock:
	rcu_read_unlock();
	kfree(spare);
	return err;
}

/**
 * ehs_task_walk - call @each for the node's records, oldest first
 * @node: node
 * @serial: start after this one; set to the last for which @each returned 0
 * @each: called under a spinlock; stops the walk if it returns an error
 * @data: for @each
 *
 * Return: 0 or the error of @each.
 */
int ehs_task_walk(struct ehs_node *node, u64 *serial,
		  int (*each)(const struct ehs_task *task, void *data), void *data)
{
	struct ehs_task *task;
	int err = 0;

	spin_lock(&ehs_task_lock);
	list_for_each_entry(task, &node->tasks, list) {
		if (task->serial <= *serial)
			continue;
		err = each(task, data);
		if (err)
			break;
		*serial = task->serial;
	}
	spin_unlock(&ehs_task_lock);
	return err;
}

/**
 * ehs_task_forget_node - remove all records of a node that goes away
 * @node: node
 */
void ehs_task_forget_node(struct ehs_node *node)
{
	struct ehs_task *task, *tmp;

	spin_lock(&ehs_task_lock);
	list_for_each_entry_safe(task, tmp, &node->tasks, list)
		ehs_task_remove(task);
	spin_unlock(&ehs_task_lock);
}

/*
 * Runs in every exit of the machine, in some kernels without preemption. The last two threads
 * of a group may both see live at 0; the second then finds no record.
 */
static void ehs_task_exits(ehs_exit_probe_args(data, exiting))
{
	struct pid *tgid;
	struct ehs_task *task;

	if (!READ_ONCE(ehs_task_number) || atomic_read(&exiting->signal->live))
		return;
	tgid = task_tgid(exiting);
	rcu_read_lock();
	task = ehs_task_find(tgid);
	rcu_read_unlock();
	if (likely(!task))
		return;
	spin_lock(&ehs_task_lock);
	task = ehs_task_find(tgid);
	if (task)
		ehs_task_remove(task);
	spin_unlock(&ehs_task_lock);
}

static void ehs_task_pick_exit_point(struct tracepoint *point, void *data)
{
	if (!strcmp(point->name, "sched_process_exit"))
		ehs_task_exit_point = point;
}

int ehs_task_init(void)
{
	/* a probe is registered as void *: only here are its arguments checked */
	check_trace_callback_type_sched_process_exit(ehs_task_exits);
	/* the tracepoint's symbol is not exported, but all are listed */
	for_each_kernel_tracepoint(ehs_task_pick_exit_point, NULL);
	if (!ehs_task_exit_point) {
		pr_err("tracepoint sched_process_exit not found: this kernel lacks CONFIG_TRACEPOINTS or renamed it\n");
		return -ENOENT;
	}
	return tracepoint_probe_register(ehs_task_exit_point, (void *)ehs_task_exits, NULL);
}

void ehs_task_exit(void)
{
	tracepoint_probe_unregister(ehs_task_exit_point, (void *)ehs_task_exits, NULL);
	tracepoint_synchronize_unregister();
}
