/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_AWAY_H
#define _EHS_AWAY_H

#include <linux/types.h>

struct ehs_node;
struct ehs_task;
struct netlink_ext_ack;
struct pid;

struct ehs_task *ehs_away_get(const struct pid *tgid, const struct ehs_node *except);
int ehs_away(struct ehs_node *node, struct pid *pid, struct netlink_ext_ack *extack);

#endif /* _EHS_AWAY_H */
