/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_BYPASS_H
#define _EHS_BYPASS_H

struct ehs_node;
struct netlink_ext_ack;
struct pid;

int ehs_bypass(struct ehs_node *node, struct pid *pid, struct netlink_ext_ack *extack);

#endif /* _EHS_BYPASS_H */
