/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_AGENT_H
#define _EHS_AGENT_H

#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/refcount.h>

#include "breaker.h"
#include "node.h"
#include "unread.h"
#include "view.h"

struct ehs_program_set;
struct sock;

/**
 * struct ehs_agent - the socket that answers the placement requests of a node
 * @refs: one of the node while registered, one of each exec that asks
 * @rcu: frees it
 * @sock: the socket, which has the rights of the agent, whatever process holds it.
 *	No reference; see ehs_agent_is_socket()
 * @port: its netlink port in the node's namespace
 * @view: what the process that registered saw and was then: tasks that see the
 *	same, and are no less, may be placed. It and @stub are for who has a reference
 * @breakers: whether it answers those of a bucket, see ehs_node_bucket(); guarded by
 *	the node's lock
 * @unread: requests that it has not answered, of execs that wait no more; as above
 * @programs: those whose execs stay, see programs.c, or NULL; RCU, replaced under the
 *	node's lock
 * @stub: the program that stands in for a task that runs on another node, open
 * @stub_inode: its inode, to compare with
 * @stub_path: its path when it was registered; only a name
 */
struct ehs_agent {
	refcount_t refs;
	struct rcu_head rcu;
	const struct sock *sock;
	u32 port;
	struct ehs_view view;
	struct ehs_breaker breakers[EHS_BUCKETS];
	struct ehs_unread unread;
	struct ehs_program_set __rcu *programs;
	struct file *stub;
	const struct inode *stub_inode;
	char *stub_path;
};

int ehs_agent_register(struct ehs_node *node, const struct sock *sock, u32 port,
		       const struct nlattr *stub_fd, struct netlink_ext_ack *extack);
void ehs_agent_drop(struct ehs_node *node);
struct ehs_agent *ehs_agent_get(struct ehs_node *node);
void ehs_agent_put(struct ehs_agent *agent);
bool ehs_agent_is_socket(const struct ehs_node *node, const struct sock *sock);
bool ehs_agent_is_stub(const struct ehs_node *node, const struct file *file);
struct file *ehs_agent_open_stub(const struct ehs_agent *agent);

int ehs_agent_init(void);
void ehs_agent_exit(void);

#endif /* _EHS_AGENT_H */
