/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_PROGRAMS_H
#define _EHS_PROGRAMS_H

#include <linux/netlink.h>
#include <linux/types.h>

struct ehs_node;
struct file;
struct sock;

int ehs_programs_set(struct ehs_node *node, const struct sock *sock, const struct nlmsghdr *nlh,
		     struct netlink_ext_ack *extack);
bool ehs_programs_has(const struct ehs_node *node, const struct file *file);

#endif /* _EHS_PROGRAMS_H */
