/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_NETLINK_H
#define _EHS_NETLINK_H

#include <linux/types.h>

struct ehs_agent;
struct ehs_node;
struct ehs_request;

int ehs_nl_place_request(struct ehs_node *node, const struct ehs_agent *agent,
			 const struct ehs_request *req, u32 time_limit);
void ehs_nl_node_notify(struct ehs_node *node);

int ehs_nl_init(void);
void ehs_nl_exit(void);

#endif /* _EHS_NETLINK_H */
