/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file kernel_inside.h
 * The sockets of the module's netlink family and what is sent on them, shared by the files
 * kernel*.c: kernel_call.c sends, and the others make the messages.
 */
#ifndef AGENT_NODE_KERNEL_INSIDE_H
#define AGENT_NODE_KERNEL_INSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <event2/util.h>
#include "node/netlink.h"
#include "node/node_settings.h"

struct agent;
struct event;
struct kernel_ops;
struct nl_msg;
struct nl_sock;
struct nlmsghdr;

struct kernel {
	struct nl_sock *call, *news, *agent;
	struct netlink_backlog late; /* of the agent socket */
	struct event *news_event, *agent_event, *retry;
	bool missed; /* some of the news */
	int asked; /* readable with the answer of ehlaunch; -1: not asked */
	struct event *asked_event;
	int family;
	unsigned int family_version;
	struct node_settings settings; /* for a module that is loaded later */
	uint32_t time_limit_max; /* of the administrator; 0: the module knows none */
	bool has_processors; /* the module has this setting */
	const struct kernel_ops *ops;
	char why[160];
};

/** Returns NULL if out of memory. */
struct nl_msg *kernel_message(struct agent *agent, uint8_t cmd, int flags);
/**
 * Sends and frees a message that takes the rights of the agent, with NLM_F_ACK or NLM_F_DUMP. each()
 * gets its answers (NULL: there are none); why[] may be NULL. 0; -ENOMEM: `msg` is NULL; -ENOTCONN:
 * not registered; or the kernel's -errno.
 */
int kernel_call(struct agent *agent, struct nl_msg *msg,
		void (*each)(void *ctx, struct nlmsghdr *h), void *ctx, char why[160]);
/** After a call on the agent socket: what was put off meanwhile is not on it, and would not wake us. */
void kernel_wake(struct agent *agent);
/** The agent socket is readable: requests, and verdicts that the kernel refused. */
void kernel_on_agent(evutil_socket_t fd, short what, void *arg);

#endif
