/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_TASK_H
#define _EHS_TASK_H

#include <linux/sched.h>
#include <linux/uidgid.h>

#include "node.h"

struct netlink_ext_ack;

/**
 * struct ehs_task - record of a thread group that has called exec in a managed
 * or guest cgroup of its node, or for which a bypass was asked
 *
 * Made at the first such exec or bypass; the top of task.c says what removes it.
 * The records' lock guards all fields; only the lookup in a hash chain uses RCU.
 * A record stays when its task leaves the managed cgroup.
 *
 * @hash: in the table of all records, by @tgid
 * @list: in the node's tasks
 * @rcu: frees it
 * @node: the node that counts it
 * @tgid: identity, referenced, so that its address is not used again
 * @serial: rises in the node's list; a dump goes on after the last one it sent
 * @id: cookie of the last placement
 * @state: enum ehs_task_state
 * @reason: enum ehs_reason, why it runs where it runs
 * @started: wall clock of the last exec, ns
 * @started_at: monotonic clock of the last exec, ns
 * @cgroup: id of its cgroup at the last exec
 * @uid: its user at the last exec
 * @boosted_at: see ehs_load_boost()
 * @running: part of the node's load, because it runs here
 * @placed: has become a stub before
 * @bypass: the next exec is not placed
 * @command: name of the program
 */
struct ehs_task {
	struct hlist_node hash;
	struct list_head list;
	struct rcu_head rcu;
	struct ehs_node *node;
	struct pid *tgid;
	u64 serial;
	u64 id;
	u32 state;
	u32 reason;
	u64 started;
	u64 started_at;
	u64 cgroup;
	kuid_t uid;
	u32 boosted_at;
	bool running : 1;
	bool placed : 1;
	bool bypass : 1;
	char command[TASK_COMM_LEN];
};

struct ehs_task *ehs_task_enter(struct ehs_node *node, u64 id, const char *path,
				enum ehs_reason *reason);
void ehs_task_wait(struct ehs_task *rec);
void ehs_task_settle(struct ehs_task *rec, enum ehs_task_state state, enum ehs_reason reason);
bool ehs_task_is_away(const struct pid *tgid);
bool ehs_task_is_away_from(const struct ehs_node *node, const struct pid *tgid);
int ehs_task_bypass(struct ehs_node *node, struct pid *pid, struct netlink_ext_ack *extack);
int ehs_task_walk(struct ehs_node *node, u64 *serial,
		  int (*each)(const struct ehs_task *rec, void *data), void *data);
void ehs_task_forget_node(struct ehs_node *node);

int ehs_task_init(void);
void ehs_task_exit(void);

#endif /* _EHS_TASK_H */
