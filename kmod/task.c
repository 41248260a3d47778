// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of managed tasks, stubs and guests, by thread group. A record is
 * removed when the last thread of the group exits, when the namespace of its
 * node ends, and when a thread of the group shows up in another namespace: it
 * calls exec there, or a bypass of it is asked for there.
 *
 * Records are not reference counted. An exec keeps a pointer to its own record
 * while it waits for a verdict. This is safe only as long as all threads of the
 * group are in one network namespace: a thread that moved to another one, and
 * has a bypass asked for itself there, removes the record that the waiting exec
 * still writes to. Known defect.
 */

#include "task.h"

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
#include "trace.h"

static DEFINE_HASHTABLE(ehs_task_table, 10);
/* Guards the table, the nodes' lists and all records; taken before a node's lock. */
static DEFINE_SPINLOCK(ehs_task_lock);
static unsigned int ehs_task_number;
static unsigned int ehs_task_number_away; /* written under ehs_task_lock */
static u64 ehs_task_serial;
static struct tracepoint *ehs_task_exit_point;

static struct ehs_task *ehs_task_find(const struct pid *tgid)
{
	struct ehs_task *rec;

	hash_for_each_possible_rcu(ehs_task_table, rec, hash, (unsigned long)tgid,
				   lockdep_is_held(&ehs_task_lock)) {
		if (rec->tgid == tgid)
			return rec;
	}
	return NULL;
}

/**
 * ehs_task_is_away - is this a stub, whose work is on another node?
 * @tgid: thread group; the caller is in an RCU read section
 */
bool ehs_task_is_away(const struct pid *tgid)
{
	const struct ehs_task *rec;

	/* called for every runnable thread of the host */
	if (!READ_ONCE(ehs_task_number_away))
		return false;
	rec = ehs_task_find(tgid);
	return rec && READ_ONCE(rec->state) == EHS_TASK_AWAY;
}

/**
 * ehs_task_is_away_from - is this a stub of @node?
 * @node: node
 * @tgid: thread group, referenced
 */
bool ehs_task_is_away_from(const struct ehs_node *node, const struct pid *tgid)
{
	const struct ehs_task *rec;
	bool away;

	spin_lock(&ehs_task_lock);
	rec = ehs_task_find(tgid);
	away = rec && rec->node == node && rec->state == EHS_TASK_AWAY;
	spin_unlock(&ehs_task_lock);
	return away;
}

static void ehs_task_count_away(int more)
{
	lockdep_assert_held(&ehs_task_lock);
	WRITE_ONCE(ehs_task_number_away, ehs_task_number_away + more);
}

/* Keeps the counts of states true, and the load of what runs here. */
static void ehs_task_set_state(struct ehs_task *rec, enum ehs_task_state state)
{
	struct ehs_node *node = rec->node;

	lockdep_assert_held(&ehs_task_lock);
	raw_spin_lock(&node->lock);
	node->counts[rec->state]--;
	node->counts[state]++;
	ehs_task_count_away((state == EHS_TASK_AWAY) - (rec->state == EHS_TASK_AWAY));
	WRITE_ONCE(rec->state, state);
	if (state == EHS_TASK_AWAY) {
		if (rec->running)
			ehs_load_unboost(node, rec->boosted_at);
		rec->running = false;
	} else if (state != EHS_TASK_PENDING && !rec->running) {
		rec->boosted_at = ehs_load_boost(node);
		rec->running = true;
	}
	ehs_state_update(node);
	raw_spin_unlock(&node->lock);
}

static void ehs_task_insert(struct ehs_task *rec, struct ehs_node *node, struct pid *tgid)
{
	lockdep_assert_held(&ehs_task_lock);
	rec->node = node;
	rec->tgid = get_pid(tgid);
	rec->serial = ++ehs_task_serial;
	rec->state = EHS_TASK_PENDING;
	raw_spin_lock(&node->lock);
	node->counts[EHS_TASK_PENDING]++;
	raw_spin_unlock(&node->lock);
	list_add_tail(&rec->list, &node->tasks);
	hash_add_rcu(ehs_task_table, &rec->hash, (unsigned long)tgid);
	WRITE_ONCE(ehs_task_number, ehs_task_number + 1);
}

static void ehs_task_remove(struct ehs_task *rec)
{
	struct ehs_node *node = rec->node;

	lockdep_assert_held(&ehs_task_lock);
	trace_ehs_finish(rec);
	raw_spin_lock(&node->lock);
	node->counts[rec->state]--;
	if (rec->running)
		ehs_load_unboost(node, rec->boosted_at);
	ehs_state_update(node);
	raw_spin_unlock(&node->lock);

	ehs_task_count_away(-(rec->state == EHS_TASK_AWAY));
	list_del(&rec->list);
	hash_del_rcu(&rec->hash);
	WRITE_ONCE(ehs_task_number, ehs_task_number - 1);
	/* readers of the chain only compare the address, then look again under the lock */
	put_pid(rec->tgid);
	kfree_rcu(rec, rcu);
}

/*
 * Finds the record of @tgid if it is @node's. A record of another node is
 * removed: the task has moved to @node's namespace. But of a group with threads
 * in two namespaces, this removes the record that the other threads still use.
 */
static struct ehs_task *ehs_task_find_here(const struct pid *tgid, const struct ehs_node *node)
{
	struct ehs_task *rec = ehs_task_find(tgid);

	lockdep_assert_held(&ehs_task_lock);
	if (rec && rec->node != node) {
		ehs_task_remove(rec);
		rec = NULL;
	}
	return rec;
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
 * If the exec fails later, the record stays because its task does; it then
 * shows the program that could not be started.
 *
 * Return: the record; NULL if there is no memory for one. It is valid until
 * current returns to user space, unless another thread of the group removes it
 * from another namespace (see the top of this file).
 */
struct ehs_task *ehs_task_enter(struct ehs_node *node, u64 id, const char *path,
				enum ehs_reason *reason)
{
	struct pid *tgid = task_tgid(current);
	struct ehs_task *rec, *spare = NULL;

	*reason = EHS_REASON_NONE;
	spin_lock(&ehs_task_lock);
	rec = ehs_task_find_here(tgid, node);
	if (!rec) {
		spin_unlock(&ehs_task_lock);
		spare = ehs_task_alloc();
		if (!spare) {
			*reason = EHS_REASON_NO_MEMORY;
			return NULL;
		}
		spin_lock(&ehs_task_lock);
		/* a bypass may have made one meanwhile */
		rec = ehs_task_find_here(tgid, node);
		if (!rec) {
			rec = spare;
			spare = NULL;
			ehs_task_insert(rec, node, tgid);
		}
	}
	if (rec->bypass)
		*reason = EHS_REASON_BYPASS;
	else if (rec->placed)
		*reason = EHS_REASON_PLACED;
	rec->bypass = false;
	rec->id = id;
	rec->started = ktime_get_real_ns();
	rec->started_at = ktime_get_ns();
	rec->uid = current_uid();
	strscpy(rec->command, kbasename(path), sizeof(rec->command));
	rcu_read_lock();
	rec->cgroup = cgroup_id(task_dfl_cgroup(current));
	rcu_read_unlock();
	spin_unlock(&ehs_task_lock);
	kfree(spare);
	return rec;
}

/**
 * ehs_task_wait - the agent is about to be asked
 * @rec: record of current
 */
void ehs_task_wait(struct ehs_task *rec)
{
	spin_lock(&ehs_task_lock);
	ehs_task_set_state(rec, EHS_TASK_PENDING);
	spin_unlock(&ehs_task_lock);
}

/**
 * ehs_task_settle - record where the task is to run
 * @rec: record of current
 * @state: local, away or guest
 * @reason: why
 */
void ehs_task_settle(struct ehs_task *rec, enum ehs_task_state state, enum ehs_reason reason)
{
	spin_lock(&ehs_task_lock);
	rec->reason = reason;
	if (state == EHS_TASK_AWAY)
		rec->placed = true;
	ehs_task_set_state(rec, state);
	spin_unlock(&ehs_task_lock);
}

/*
 * Makes a record for another task, if it is alive. Its exit may run at the same
 * time: it lowers signal->live, then looks for a record. Here the record is
 * inserted, then live is read: one of the two sees the other.
 */
static int ehs_task_insert_other(struct ehs_task *rec, struct ehs_node *node,
				 struct task_struct *task)
{
	lockdep_assert_held(&ehs_task_lock);
	rec->started = ktime_get_real_ns();
	rec->started_at = ktime_get_ns();
	rec->uid = task_uid(task);
	get_task_comm(rec->command, task);
	rec->cgroup = cgroup_id(task_dfl_cgroup(task));
	ehs_task_insert(rec, node, task_tgid(task));
	ehs_task_set_state(rec, EHS_TASK_LOCAL);
	/* pairs with the full barrier of atomic_dec_and_test() in do_exit() */
	smp_mb();
	if (atomic_read(&task->signal->live))
		return 0;
	ehs_task_remove(rec);
	return -ESRCH;
}

/**
 * ehs_task_bypass - do not place the next exec of a task
 * @node: node of the caller
 * @pid: process id of the task
 * @extack: for the text of a refusal
 *
 * Return: 0, -ESRCH if there is no such task in the node, -EINVAL for a kernel
 * thread, -ENOMEM.
 */
int ehs_task_bypass(struct ehs_node *node, struct pid *pid, struct netlink_ext_ack *extack)
{
	struct ehs_task *rec, *spare = ehs_task_alloc();
	struct task_struct *task;
	bool here = false;
	int err = -ESRCH;

	if (!spare)
		return -ENOMEM;
	rcu_read_lock();
	task = pid_task(pid, PIDTYPE_PID);
	if (task) {
		task_lock(task);
		here = task->nsproxy && task->nsproxy->net_ns == node->net;
		task_unlock(task);
	}
	if (!here) {
		NL_SET_ERR_MSG(extack, "no such task in this network namespace");
		goto unlock;
	}
	/* it will never call exec, and its record would be counted for good */
	if (task->flags & PF_KTHREAD) {
		NL_SET_ERR_MSG(extack, "a kernel thread never calls exec");
		err = -EINVAL;
		goto unlock;
	}
	spin_lock(&ehs_task_lock);
	rec = ehs_task_find_here(task_tgid(task), node);
	err = 0;
	if (!rec) {
		rec = spare;
		spare = NULL;
		err = ehs_task_insert_other(rec, node, task);
	}
	if (err)
		NL_SET_ERR_MSG(extack, "the task has just ended");
	else
		rec->bypass = true;
	spin_unlock(&ehs_task_lock);
unlock:
	rcu_read_unlock();
	kfree(spare);
	return err;
}

/**
 * ehs_task_walk - call @each for the records of a node, oldest first
 * @node: node
 * @serial: start after this one; set to the last for which @each returned 0
 * @each: called under a spinlock; an error from it ends the walk
 * @data: for @each
 *
 * Starts from the head of the list each time, so a dump of many records in many
 * messages takes time in the square of their number, under the lock.
 *
 * Return: 0 or the error of @each.
 */
int ehs_task_walk(struct ehs_node *node, u64 *serial,
		  int (*each)(const struct ehs_task *rec, void *data), void *data)
{
	struct ehs_task *rec;
	int err = 0;

	spin_lock(&ehs_task_lock);
	list_for_each_entry(rec, &node->tasks, list) {
		if (rec->serial <= *serial)
			continue;
		err = each(rec, data);
		if (err)
			break;
		*serial = rec->serial;
	}
	spin_unlock(&ehs_task_lock);
	return err;
}

/**
 * ehs_task_forget_node - remove all records of a node that ends
 * @node: node
 */
void ehs_task_forget_node(struct ehs_node *node)
{
	struct ehs_task *rec, *tmp;

	spin_lock(&ehs_task_lock);
	list_for_each_entry_safe(rec, tmp, &node->tasks, list)
		ehs_task_remove(rec);
	spin_unlock(&ehs_task_lock);
}

/*
 * Runs in every exit on the host. Up to 6.12 it runs with preemption off and
 * takes spinlocks: not for PREEMPT_RT, where these sleep. The last two threads
 * of a group may both see live at 0; the second then finds no record.
 */
static void ehs_task_exits(ehs_exit_probe_args(data, exiting))
{
	struct pid *tgid;
	struct ehs_task *rec;

	if (!READ_ONCE(ehs_task_number) || atomic_read(&exiting->signal->live))
		return;
	tgid = task_tgid(exiting);
	rcu_read_lock();
	rec = ehs_task_find(tgid);
	rcu_read_unlock();
	if (likely(!rec))
		return;
	spin_lock(&ehs_task_lock);
	rec = ehs_task_find(tgid);
	if (rec)
		ehs_task_remove(rec);
	spin_unlock(&ehs_task_lock);
}

static void ehs_task_pick_exit_point(struct tracepoint *point, void *data)
{
	if (!strcmp(point->name, "sched_process_exit"))
		ehs_task_exit_point = point;
}

int ehs_task_init(void)
{
	/* a probe is registered as void *: its arguments are checked only here */
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
