/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_ACCOUNT_H
#define _EHS_ACCOUNT_H

struct ehs_node;
struct ehs_usage;
struct netlink_ext_ack;
struct pid;

int ehs_account(struct ehs_node *node, struct pid *pid, const struct ehs_usage *usage,
		struct netlink_ext_ack *extack);

#endif /* _EHS_ACCOUNT_H */
