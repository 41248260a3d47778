/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_REQUEST_H
#define _EHS_REQUEST_H

#include <linux/netlink.h>

#include "node.h"

struct ehs_agent;
struct sock;
struct task_struct;

/**
 * struct ehs_request - an exec that waits for a verdict; on its task's stack
 * @hash: in the node's table until it is decided
 * @cookie: number of the placement
 * @path: program as given to exec
 * @task: the task that calls exec; woken, under the node's lock, by whoever removes the
 *	request from the table, or takes its agent away
 * @agent: who is asked, referenced by the exec; NULL before, and from the moment
 *	another agent takes its place until the exec has asked that one. It and all
 *	below are guarded by the node's lock
 * @bucket: of its user, as @cookie says; never changed
 * @try: it finds out whether a slow agent answers again, see breaker.h
 * @counts: to wait in vain is a miss of the agent: its socket was asked when the time
 *	began, or has been registered again since
 * @over: decided; what was decided is below
 * @started_at: when an agent was asked first, monotonic, ns; 0 if none was. The
 *	exec's own, as the next two
 * @limit: its time limit, ms
 * @deadline: jiffies when that is over
 * @verdict: enum ehs_verdict
 * @reason: enum ehs_reason
 * @token: for the stub, if the verdict is remote
 */
struct ehs_request {
	struct hlist_node hash;
	u64 cookie;
	const char *path;
	struct task_struct *task;
	struct ehs_agent *agent;
	u32 bucket;
	bool try;
	bool counts;
	bool over;
	u64 started_at;
	u32 limit;
	unsigned long deadline;
	u32 verdict;
	u32 reason;
	char token[EHS_TOKEN_MAX + 1];
};

void ehs_request_setup(void);
u64 ehs_request_cookie(const struct ehs_node *node);
void ehs_request_init(struct ehs_request *req, u64 cookie, const char *path);
bool ehs_request_ask(struct ehs_node *node, struct ehs_agent *agent, struct ehs_request *req);
void ehs_request_give_up(struct ehs_node *node, struct ehs_request *req, enum ehs_reason reason);
int ehs_request_answer(struct ehs_node *node, const struct sock *sock,
		       const struct ehs_request *answer, struct netlink_ext_ack *extack);
void ehs_request_hand_over(struct ehs_node *node, bool other);
void ehs_request_release(struct ehs_node *node, enum ehs_reason reason);
void ehs_request_stop(void);
void ehs_request_start(void);

#endif /* _EHS_REQUEST_H */
