/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_INQUIRY_H
#define _EHS_INQUIRY_H

#include <linux/types.h>
#include <linux/ehsched.h>

struct ehs_node;
struct netlink_ext_ack;
struct pid;
struct sock;

/**
 * struct ehs_inquiry - what is said of a process
 * @reason: why it may not leave; EHS_REASON_NONE if it may
 * @started: when it began, ns since boot
 */
struct ehs_inquiry {
	enum ehs_reason reason;
	u64 started;
};

int ehs_inquiry(struct ehs_node *node, const struct sock *sock, struct pid *pid,
		struct ehs_inquiry *found, struct netlink_ext_ack *extack);

#endif /* _EHS_INQUIRY_H */
