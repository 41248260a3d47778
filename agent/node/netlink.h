/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file netlink.h
 * Sockets of generic netlink on which only the kernel is heard, and requests on them.
 */
#ifndef AGENT_NODE_NETLINK_H
#define AGENT_NODE_NETLINK_H

#include <netlink/handlers.h>
#include <stdbool.h>

struct nl_msg;
struct nl_sock;

/** A socket without automatic ACKs, or NULL with a text in why[]. */
struct nl_sock *netlink_open(char why[160]);
/** Whether refusals come with the kernel's text, and without the message that they are about. */
void netlink_want_texts(struct nl_sock *sk, int on);
/**
 * Sends a message, frees it and receives the answer. NULL: out of memory. 0 or the kernel's -errno,
 * and then the reason in why[], which may be NULL.
 */
int netlink_do(struct nl_sock *sk, struct nl_msg *msg, nl_recvmsg_msg_cb_t each, void *ctx,
	       char why[160]);

#endif
