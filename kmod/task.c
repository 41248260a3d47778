// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of managed tasks, stubs and guests, by thread group and node.
 *
 * A record is made by the group's first exec in a managed or guest cgroup of
 * the node, and by a bypass. It is removed when
 *
 * - the last thread of the group exits,
 * - the group, being a single thread by now, calls exec in another namespace or
 *   outside of the node's cgroups,
 * - the group leaves the node's cgroups, unless it is a stub or in an exec,
 * - the namespace of the node ends.
 *
 * A caller that finds a record and goes on to use it takes a reference: an exec keeps
 * one while it waits for a verdict. A removed record has @gone set; it is not
 * counted any more, and what is written to it has no effect.
 */

#include "task.h"

#include <linux/cgroup.h>
#include <linux/hash.h>
#include <linux/ktime.h>
#include <linux/netlink.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "load.h"
#include "load_math.h"
#include "state.h"
#include "trace.h"

#define EHS_TASK_CHAIN_BITS 10
/* In how many nodes a thread group may have records. */
#define EHS_TASK_NODES_MAX 16

/*
 * Lock order: a chain's lock, then a node's. Both are raw, because an exit takes
 * them with preemption off up to 6.12, also on PREEMPT_RT.
 */
static struct ehs_task_chain ehs_task_chains[1 << EHS_TASK_CHAIN_BITS];

static atomic_t ehs_task_number = ATOMIC_INIT(0);

/**
 * ehs_task_chain_of - the chain with the records of a thread group
 * @tgid: thread group
 */
struct ehs_task_chain *ehs_task_chain_of(const struct pid *tgid)
{
	return &ehs_task_chains[hash_ptr(tgid, EHS_TASK_CHAIN_BITS)];
}

/* The caller is in an RCU read section or holds the chain's lock. */
static struct ehs_task *ehs_task_find(const struct ehs_node *node, const struct pid *tgid)
{
	struct ehs_task_chain *chain = ehs_task_chain_of(tgid);
	struct ehs_task *rec;

	hlist_for_each_entry_rcu(rec, &chain->head, hash, lockdep_is_held(&chain->lock)) {
		if (rec->tgid == tgid && rec->node == node)
			return rec;
	}
	return NULL;
}

/**
 * ehs_task_any - are there records?
 *
 * For those that are called by every exit on the host.
 */
bool ehs_task_any(void)
{
	return atomic_read(&ehs_task_number);
}

/**
 * ehs_task_get - take a reference to a record
 * @node: node that counts it
 * @tgid: thread group
 *
 * Return: the record or NULL. It may be removed while the reference is held.
 */
struct ehs_task *ehs_task_get(const struct ehs_node *node, const struct pid *tgid)
{
	struct ehs_task *rec;

	rcu_read_lock();
	rec = ehs_task_find(node, tgid);
	if (rec && !refcount_inc_not_zero(&rec->refs))
		rec = NULL;
	rcu_read_unlock();
	return rec;
}

static void ehs_task_free(struct rcu_head *rcu)
{
	struct ehs_task *rec = container_of(rcu, struct ehs_task, rcu);

	put_pid(rec->tgid);
	kfree(rec);
}

/**
 * ehs_task_put - release a reference
 * @rec: from ehs_task_get() or ehs_task_enter()
 *
 * Does not sleep. The memory is freed after a grace period, for readers of the
 * chain, and outside of an exit's atomic section, where put_pid() is not allowed
 * on PREEMPT_RT.
 */
void ehs_task_put(struct ehs_task *rec)
{
	if (refcount_dec_and_test(&rec->refs))
		call_rcu(&rec->rcu, ehs_task_free);
}

/* How long a thread has run, or waited for a processor, ns. */
static u64 ehs_task_wanted(const struct task_struct *thread)
{
	u64 wanted = READ_ONCE(thread->se.sum_exec_runtime);

#ifdef CONFIG_SCHED_INFO
	wanted += READ_ONCE(thread->sched_info.run_delay);
#endif
	return wanted;
}

/*
 * For ehs_load_unboost(): of a process that exits the part of its time in which its first thread
 * wanted a processor, if there are no other threads. Of others nothing is known.
 *
 * The record is written before de_thread(): a thread that calls exec becomes the first one, with
 * the time that it has had, only if the exec succeeds. And it may do so in another namespace or
 * cgroup, where the record is not written again. So the first thread that exits may be another
 * than the one that @rec->wanted is of, even at the same address: then it may have had less time.
 */
static u32 ehs_task_part(const struct ehs_task *rec)
{
	u64 wanted = ehs_task_wanted(current);

	if (current != rec->thread || wanted < rec->wanted || task_tgid(current) != rec->tgid ||
	    !(current->flags & PF_EXITING) || !thread_group_leader(current) ||
	    !thread_group_empty(current))
		return 0;
	return ehs_load_part(wanted - rec->wanted, ktime_get_ns() - rec->started_at);
}

/**
 * ehs_task_set_state - keep the counts of states true, and the load of what runs here
 * @rec: record that was not removed, its node locked
 * @state: its new state
 */
void ehs_task_set_state(struct ehs_task *rec, enum ehs_task_state state)
{
	struct ehs_node *node = rec->node;

	lockdep_assert_held(&node->lock);
	node->counts[rec->state]--;
	node->counts[state]++;
	WRITE_ONCE(rec->state, state);
	if (state == EHS_TASK_AWAY) {
		if (rec->running)
			ehs_load_unboost(node, rec->boosted_at, 0);
		rec->running = false;
	} else if (state != EHS_TASK_PENDING && !rec->running) {
		rec->boosted_at = ehs_load_boost(node);
		rec->running = true;
	}
	ehs_state_update(node);
}

static bool ehs_task_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct ehs_task, tree)->serial <
	       rb_entry(b, struct ehs_task, tree)->serial;
}

static void ehs_task_insert(struct ehs_task *rec, struct ehs_node *node, struct pid *tgid)
{
	struct ehs_task_chain *chain = ehs_task_chain_of(tgid);

	lockdep_assert_held(&chain->lock);
	rec->node = node;
	rec->tgid = get_pid(tgid);
	rec->state = EHS_TASK_PENDING;
	raw_spin_lock(&node->lock);
	rec->serial = ++node->task_serial;
	rb_add(&rec->tree, &node->tasks, ehs_task_before);
	node->counts[EHS_TASK_PENDING]++;
	raw_spin_unlock(&node->lock);
	atomic_inc(&ehs_task_number);
	hlist_add_head_rcu(&rec->hash, &chain->head);
}

/**
 * ehs_task_remove_locked - remove a record
 * @rec: record; the locks of its chain and its node are held
 *
 * Releases the table's reference.
 */
void ehs_task_remove_locked(struct ehs_task *rec)
{
	struct ehs_node *node = rec->node;

	lockdep_assert_held(&ehs_task_chain_of(rec->tgid)->lock);
	lockdep_assert_held(&node->lock);
	trace_ehs_finish(rec);
	rec->gone = true;
	rb_erase(&rec->tree, &node->tasks);
	node->counts[rec->state]--;
	if (rec->running)
		ehs_load_unboost(node, rec->boosted_at, ehs_task_part(rec));
	ehs_state_update(node);
	hlist_del_rcu(&rec->hash);
	atomic_dec(&ehs_task_number);
	ehs_task_put(rec);
}

static void ehs_task_remove(struct ehs_task *rec)
{
	struct ehs_node *node = rec->node;

	raw_spin_lock(&node->lock);
	ehs_task_remove_locked(rec);
	raw_spin_unlock(&node->lock);
}

static struct ehs_task *ehs_task_alloc(void)
{
	struct ehs_task *rec = kzalloc(sizeof(*rec), GFP_KERNEL_ACCOUNT);

	if (rec)
		refcount_set(&rec->refs, 1);
	return rec;
}

/* When, whose and where. */
static void ehs_task_describe(struct ehs_task *rec, struct task_struct *task)
{
	rec->started = ktime_get_real_ns();
	rec->started_at = ktime_get_ns();
	rec->thread = task;
	rec->wanted = ehs_task_wanted(task);
	rec->uid = task_uid(task);
	rcu_read_lock();
	rec->cgroup = cgroup_id(task_dfl_cgroup(task));
	rcu_read_unlock();
}

/* Whether a group has as many records as it may; they are all in one chain. */
static bool ehs_task_in_many(const struct pid *tgid)
{
	struct ehs_task_chain *chain = ehs_task_chain_of(tgid);
	const struct ehs_task *rec;
	unsigned int n = 0;

	lockdep_assert_held(&chain->lock);
	hlist_for_each_entry(rec, &chain->head, hash)
		n += rec->tgid == tgid;
	return n >= EHS_TASK_NODES_MAX;
}

/*
 * Return: the record of @tgid in @node, referenced; if there is none yet, *spare
 * becomes it, and NULL is left there. NULL if the group has too many.
 */
static struct ehs_task *ehs_task_find_or_insert(struct ehs_node *node, struct pid *tgid,
						struct ehs_task **spare)
{
	struct ehs_task_chain *chain = ehs_task_chain_of(tgid);
	struct ehs_task *rec;

	lockdep_assert_held(&chain->lock);
	rec = ehs_task_find(node, tgid);
	if (!rec && !ehs_task_in_many(tgid)) {
		rec = *spare;
		*spare = NULL;
		ehs_task_insert(rec, node, tgid);
	}
	if (rec)
		refcount_inc(&rec->refs);
	return rec;
}

static struct ehs_task *ehs_task_get_or_make(struct ehs_node *node, struct pid *tgid)
{
	struct ehs_task *rec = ehs_task_get(node, tgid), *spare;
	struct ehs_task_chain *chain = ehs_task_chain_of(tgid);

	if (rec)
		return rec;
	spare = ehs_task_alloc();
	if (!spare)
		return NULL;
	raw_spin_lock(&chain->lock);
	/* a bypass may have made one meanwhile */
	rec = ehs_task_find_or_insert(node, tgid, &spare);
	raw_spin_unlock(&chain->lock);
	kfree(spare);
	return rec;
}

static void ehs_task_note(struct ehs_task *rec, const struct ehs_arrival *arrival)
{
	lockdep_assert_held(&rec->node->lock);
	WRITE_ONCE(rec->in_exec, true);
	rec->bypass = false;
	rec->id = arrival->cookie;
	rec->accounted = (struct ehs_usage){};
	ehs_task_describe(rec, current);
	strscpy(rec->command, kbasename(arrival->path), sizeof(rec->command));
}

/* What the node says of the exec. @rec is NULL or the record of current, its node locked. */
static void ehs_task_meet(const struct ehs_node *node, const struct ehs_task *rec,
			  struct ehs_arrival *arrival)
{
	const bool exact = node->set.index == EHS_INDEX_TASKS;
	const u32 processors = node->set.processors;
	u32 others;

	arrival->load = ehs_load_get(node);
	arrival->state = ehs_state_get(node);
	others = arrival->load;
	/* counted since an exec before this one */
	if (exact && rec && rec->running)
		others -= min(others, node->set.weight);
	arrival->full = processors ? ehs_load_tasks(others) >= processors
				   : arrival->state == EHS_STATE_SENDER;
	arrival->walk = exact ? 0 : processors;
}

/**
 * ehs_task_enter - the current task calls exec
 * @node: its node
 * @arrival: cookie and path are set; the rest is filled in
 *
 * If the exec fails later, the record stays because its task does; it then
 * shows the program that could not be started.
 *
 * Only one exec of a group is in here at a time: it holds the cred_guard_mutex
 * of the group.
 *
 * Return: the record, referenced, to be settled and put by the caller; NULL if
 * there is no memory for one.
 */
struct ehs_task *ehs_task_enter(struct ehs_node *node, struct ehs_arrival *arrival)
{
	struct pid *tgid = task_tgid(current);
	struct ehs_task *rec;
	bool gone;

	do {
		rec = ehs_task_get_or_make(node, tgid);
		raw_spin_lock(&node->lock);
		ehs_task_meet(node, rec, arrival);
		arrival->reason = EHS_REASON_NO_MEMORY;
		/* somebody may have just moved the task from cgroup to cgroup */
		gone = rec && rec->gone;
		if (rec && !gone) {
			arrival->reason = rec->bypass	? EHS_REASON_BYPASS
					  : rec->placed ? EHS_REASON_PLACED
							: EHS_REASON_NONE;
			ehs_task_note(rec, arrival);
		}
		raw_spin_unlock(&node->lock);
		if (gone)
			ehs_task_put(rec);
	} while (gone);
	return rec;
}

/**
 * ehs_task_wait - the agent is about to be asked
 * @rec: record of current
 */
void ehs_task_wait(struct ehs_task *rec)
{
	raw_spin_lock(&rec->node->lock);
	if (!rec->gone)
		ehs_task_set_state(rec, EHS_TASK_PENDING);
	raw_spin_unlock(&rec->node->lock);
}

/**
 * ehs_task_settle - record where the task is to run
 * @rec: record of current
 * @state: local, away or guest
 * @reason: why
 */
void ehs_task_settle(struct ehs_task *rec, enum ehs_task_state state, enum ehs_reason reason)
{
	raw_spin_lock(&rec->node->lock);
	WRITE_ONCE(rec->in_exec, false);
	rec->reason = reason;
	if (state == EHS_TASK_AWAY)
		rec->placed = true;
	if (!rec->gone)
		ehs_task_set_state(rec, state);
	raw_spin_unlock(&rec->node->lock);
}

/**
 * ehs_task_remove_group - remove the records of a thread group
 * @tgid: thread group
 * @except: node in which its record stays, or NULL
 *
 * Does not sleep. Takes no lock if there is nothing to remove.
 */
void ehs_task_remove_group(const struct pid *tgid, const struct ehs_node *except)
{
	struct ehs_task_chain *chain = ehs_task_chain_of(tgid);
	struct hlist_node *tmp;
	struct ehs_task *rec;
	bool any = false;

	rcu_read_lock();
	hlist_for_each_entry_rcu(rec, &chain->head, hash)
		any |= rec->tgid == tgid && rec->node != except;
	rcu_read_unlock();
	if (likely(!any))
		return;
	raw_spin_lock(&chain->lock);
	hlist_for_each_entry_safe(rec, tmp, &chain->head, hash) {
		if (rec->tgid == tgid && rec->node != except)
			ehs_task_remove(rec);
	}
	raw_spin_unlock(&chain->lock);
}

/*
 * A new record of another task counts as running, if the task is alive. Its exit
 * may run at the same time: it lowers signal->live, then looks for a record. Here
 * the record has been inserted, then live is read: one of the two sees the other.
 */
static int ehs_task_start_other(struct ehs_task *rec, const struct task_struct *task)
{
	raw_spin_lock(&rec->node->lock);
	ehs_task_set_state(rec, EHS_TASK_LOCAL);
	raw_spin_unlock(&rec->node->lock);
	/* pairs with the full barrier of atomic_dec_and_test() in do_exit() */
	smp_mb();
	if (atomic_read(&task->signal->live))
		return 0;
	ehs_task_remove(rec);
	return -ESRCH;
}

/**
 * ehs_task_make - the record of a task that is not in an exec
 * @node: node of the task
 * @task: a thread of it, referenced
 * @tgid: its thread group, referenced; the task may be reaped at any time and then
 *	does not know it any more
 * @extack: for the text of a refusal
 *
 * Return: the record, referenced, which may be removed at any time; -ESRCH if the
 * task has ended, -EUSERS if it has too many records, -ENOMEM.
 */
struct ehs_task *ehs_task_make(struct ehs_node *node, struct task_struct *task, struct pid *tgid,
			       struct netlink_ext_ack *extack)
{
	struct ehs_task_chain *chain = ehs_task_chain_of(tgid);
	struct ehs_task *rec, *spare = ehs_task_alloc();
	int err = 0;

	if (!spare)
		return ERR_PTR(-ENOMEM);
	ehs_task_describe(spare, task);
	get_task_comm(spare->command, task);
	raw_spin_lock(&chain->lock);
	rec = ehs_task_find_or_insert(node, tgid, &spare);
	if (!rec)
		err = -EUSERS;
	else if (!spare)
		err = ehs_task_start_other(rec, task);
	raw_spin_unlock(&chain->lock);
	if (err == -EUSERS)
		NL_SET_ERR_MSG_MOD(extack, "the task is in too many network namespaces");
	else if (err)
		NL_SET_ERR_MSG_MOD(extack, "the task has just ended");
	kfree(spare);
	if (err && rec)
		ehs_task_put(rec);
	return err ? ERR_PTR(err) : rec;
}

/* The node's oldest record after @serial, or NULL. */
static struct ehs_task *ehs_task_after(const struct ehs_node *node, u64 serial)
{
	struct rb_node *at = node->tasks.rb_node;
	struct ehs_task *rec, *found = NULL;

	lockdep_assert_held(&node->lock);
	while (at) {
		rec = rb_entry(at, struct ehs_task, tree);
		if (rec->serial > serial) {
			found = rec;
			at = at->rb_left;
		} else {
			at = at->rb_right;
		}
	}
	return found;
}

/**
 * ehs_task_next - copy the node's oldest record after another one
 * @node: node
 * @serial: serial of the other one, which may be gone by now; 0 for the first
 * @info: filled in; the caller puts info->tgid
 *
 * The lock is held for one record only, so that a reader of many does not hold
 * up execs.
 *
 * Return: whether there is one.
 */
bool ehs_task_next(struct ehs_node *node, u64 serial, struct ehs_task_info *info)
{
	const struct ehs_task *rec;

	raw_spin_lock(&node->lock);
	rec = ehs_task_after(node, serial);
	if (rec) {
		*info = (struct ehs_task_info){
			.tgid = get_pid(rec->tgid),
			.serial = rec->serial,
			.id = rec->id,
			.state = rec->state,
			.reason = rec->reason,
			.started = rec->started,
			.cgroup = rec->cgroup,
			.uid = rec->uid,
		};
		memcpy(info->command, rec->command, sizeof(info->command));
	}
	raw_spin_unlock(&node->lock);
	return rec;
}

/**
 * ehs_task_get_after - take a reference to the node's oldest record after another
 * @node: node
 * @serial: serial of the other one, which may be gone by now; 0 for the first
 *
 * Return: the record or NULL.
 */
struct ehs_task *ehs_task_get_after(struct ehs_node *node, u64 serial)
{
	struct ehs_task *rec;

	raw_spin_lock(&node->lock);
	rec = ehs_task_after(node, serial);
	/* what is in the tree has the table's reference */
	if (rec)
		refcount_inc(&rec->refs);
	raw_spin_unlock(&node->lock);
	return rec;
}

/**
 * ehs_task_forget_node - remove all records of a node that ends
 * @node: node
 *
 * No task is left in its namespace, so no exec uses one of them. May sleep.
 */
void ehs_task_forget_node(struct ehs_node *node)
{
	struct ehs_task_chain *chain;
	struct ehs_task *rec;

	while ((rec = ehs_task_get_after(node, 0))) {
		chain = ehs_task_chain_of(rec->tgid);
		raw_spin_lock(&chain->lock);
		if (!rec->gone)
			ehs_task_remove(rec);
		raw_spin_unlock(&chain->lock);
		ehs_task_put(rec);
		cond_resched();
	}
}

void __init ehs_task_init(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ehs_task_chains); i++)
		raw_spin_lock_init(&ehs_task_chains[i].lock);
}
