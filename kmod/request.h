/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_REQUEST_H
#define _EHS_REQUEST_H

#include <linux/completion.h>
#include <linux/netlink.h>

#include "node.h"

struct ehs_agent;

/**
 * struct ehs_request - an exec that waits for a verdict; on its task's stack
 * @hash: in the node's table until it is decided
 * @cookie: number of the placement
 * @path: program as given to exec
 * @try: it finds out whether a slow agent answers again, see breaker.h
 * @decided: completed by whoever removes it from the table
 * @verdict: enum ehs_verdict
 * @reason: enum ehs_reason
 * @token: for the stub, if the verdict is remote
 */
struct ehs_request {
	struct hlist_node hash;
	u64 cookie;
	const char *path;
	bool try;
	struct completion decided;
	u32 verdict;
	u32 reason;
	char token[EHS_TOKEN_MAX + 1];
};

void ehs_request_ask(struct ehs_node *node, struct ehs_agent *agent, struct ehs_request *req);
int ehs_request_answer(struct ehs_node *node, u32 port, const struct ehs_request *answer,
		       struct netlink_ext_ack *extack);
void ehs_request_release(struct ehs_node *node, enum ehs_reason reason);
void ehs_request_stop(void);
void ehs_request_start(void);

#endif /* _EHS_REQUEST_H */
