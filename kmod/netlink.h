/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_NETLINK_H
#define _EHS_NETLINK_H

#include <net/genetlink.h>

#include "compat/genl.h"
#include "netlink_gen.h"

struct ehs_agent;
struct ehs_node;
struct ehs_request;

int ehs_nl_place_request(struct ehs_node *node, const struct ehs_agent *agent,
			 const struct ehs_request *req, u32 time_limit);
void ehs_nl_node_notify(struct ehs_node *node);

int ehs_nl_init(void);
void ehs_nl_exit(void);

/* Between the files of the family. */

extern struct genl_family ehs_nl_family;

bool ehs_nl_is_admin(struct sk_buff *skb, struct genl_info *info);
bool ehs_nl_sees_all(const struct sk_buff *skb, const struct ehs_node *node);
int ehs_nl_put_node(struct sk_buff *msg, struct ehs_node *node, bool counters, u32 port, u32 seq,
		    int flags, u8 cmd);

/**
 * struct ehs_nl_dump - position of a dump
 * @all: all nodes, not only the caller's; or the tasks of all users
 * @counters: the counters of nodes, too
 * @serial: serial of the last node or record that was sent
 */
struct ehs_nl_dump {
	bool all;
	bool counters;
	u64 serial;
};

static inline struct ehs_nl_dump *ehs_nl_dump_of(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct ehs_nl_dump) > sizeof(cb->ctx));
	return (struct ehs_nl_dump *)cb->ctx;
}

/* The node of the caller's namespace, as what runs before an operation has left it. */
static inline struct ehs_node *ehs_nl_node(const struct genl_info *info)
{
	return info->user_ptr[0];
}

#endif /* _EHS_NETLINK_H */
