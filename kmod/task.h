/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_TASK_H
#define _EHS_TASK_H

#include <linux/llist.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/uidgid.h>

#include "node.h"
#include "usage.h"

struct netlink_ext_ack;

/**
 * struct ehs_arrival - an exec in a managed or guest cgroup, as its node sees it
 * @cookie: number of the placement
 * @path: program as given to exec
 * @load: load of the node without the new task
 * @state: state of the node by @load
 * @reason: why it is not to be placed, as far as the task's record knows
 * @full: by its load the node has no room for the task: none of its processors is free, or it is a
 *	sender where their number is not set
 * @walk: then it has none if a walk over the host sees so many threads of it run; 0: @full says all
 */
struct ehs_arrival {
	u64 cookie;
	const char *path;
	u32 load;
	enum ehs_state state;
	enum ehs_reason reason;
	bool full;
	u32 walk;
};

/**
 * struct ehs_task - record of a thread group that has called exec in a managed
 * or guest cgroup of a node, or for which a bypass was asked there
 *
 * A group whose threads are in several network namespaces may have a record in
 * each of their nodes. The top of task.c says what makes and removes it.
 *
 * @hash: in the chain of @tgid; guarded by the chain's lock, read under RCU
 * @refs: one of the table, one of each exec or call that uses the record, one of
 *	the node's list of moved ones
 * @rcu: frees it
 * @node: the node that counts it; only valid while not @gone, or in an exec
 * @tgid: identity, referenced, so that its address is not used again
 * @moved: in the node's list of records whose tasks were moved, which has a
 *	reference then
 * @is_moved: bit 0: it is in that list
 * @serial: key in the node's tree; a dump goes on after the last one it sent
 * @tree: in the node's tree of records. It and all below are guarded by the
 *	node's lock
 * @id: cookie of the last placement
 * @state: enum ehs_task_state; also read under RCU
 * @reason: enum ehs_reason, why it runs where it runs
 * @started: wall clock of the last exec, ns
 * @started_at: monotonic clock of the last exec, ns
 * @cgroup: id of its cgroup at the last exec
 * @uid: its user at the last exec
 * @accounted: what TASK_ACCOUNT has added since then, see ehs_usage_is_possible()
 * @boosted_at: see ehs_load_boost()
 * @thread: called the last exec, or was named; only compared, as it may be gone
 * @wanted: how long @thread had wanted a processor then, ns
 * @gone: removed from table and tree; nothing counts it any more
 * @in_exec: an exec of it is under way, which will settle it; also read under RCU
 * @running: part of the node's load, because it runs here
 * @placed: has become a stub before
 * @bypass: the next exec is not placed
 * @command: name of the program
 */
struct ehs_task {
	struct hlist_node hash;
	refcount_t refs;
	struct rcu_head rcu;
	struct ehs_node *node;
	struct pid *tgid;
	struct llist_node moved;
	unsigned long is_moved;
	u64 serial;
	struct rb_node tree;
	u64 id;
	u32 state;
	u32 reason;
	u64 started;
	u64 started_at;
	u64 cgroup;
	kuid_t uid;
	struct ehs_usage accounted;
	u32 boosted_at;
	const struct task_struct *thread;
	u64 wanted;
	bool gone;
	bool in_exec;
	bool running;
	bool placed;
	bool bypass;
	char command[TASK_COMM_LEN];
};

/**
 * struct ehs_task_info - copy of what a record says at one moment
 * @tgid: thread group, referenced; the caller puts it
 * @serial: its place among the node's records
 * @id: cookie of the last placement
 * @state: enum ehs_task_state
 * @reason: enum ehs_reason
 * @started: wall clock of the last exec, ns
 * @cgroup: id of its cgroup at the last exec
 * @uid: its user at the last exec
 * @command: name of the program
 */
struct ehs_task_info {
	struct pid *tgid;
	u64 serial;
	u64 id;
	u32 state;
	u32 reason;
	u64 started;
	u64 cgroup;
	kuid_t uid;
	char command[TASK_COMM_LEN];
};

/**
 * struct ehs_task_chain - records whose thread groups have the same hash
 * @lock: guards who is in the chain; taken before a node's lock. Both are raw,
 *	because an exit takes them with preemption off up to 6.12, also on
 *	PREEMPT_RT
 * @head: the records; read under RCU
 */
struct ehs_task_chain {
	raw_spinlock_t lock;
	struct hlist_head head;
};

struct ehs_task *ehs_task_enter(struct ehs_node *node, struct ehs_arrival *arrival);
void ehs_task_wait(struct ehs_task *rec);
void ehs_task_settle(struct ehs_task *rec, enum ehs_task_state state, enum ehs_reason reason);
struct ehs_task *ehs_task_get(const struct ehs_node *node, const struct pid *tgid);
void ehs_task_put(struct ehs_task *rec);
struct ehs_task *ehs_task_make(struct ehs_node *node, struct task_struct *task, struct pid *tgid,
			       struct netlink_ext_ack *extack);
bool ehs_task_next(struct ehs_node *node, u64 serial, struct ehs_task_info *info);
void ehs_task_forget_node(struct ehs_node *node);

bool ehs_task_any(void);
void ehs_task_set_state(struct ehs_task *rec, enum ehs_task_state state);
struct ehs_task_chain *ehs_task_chain_of(const struct pid *tgid);
struct ehs_task *ehs_task_get_after(struct ehs_node *node, u64 serial);
void ehs_task_remove_group(const struct pid *tgid, const struct ehs_node *except);
void ehs_task_remove_locked(struct ehs_task *rec);

void ehs_task_init(void);

#endif /* _EHS_TASK_H */
