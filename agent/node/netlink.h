/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file netlink.h
 * Sockets of generic netlink on which only the kernel is heard, and requests on them.
 */
#ifndef AGENT_NODE_NETLINK_H
#define AGENT_NODE_NETLINK_H

#include <linux/netlink.h>
#include <netlink/handlers.h>
#include <stdbool.h>

struct netlink_late;
struct nl_msg;
struct nl_sock;

/** Takes over a connected socket of generic netlink. NULL: it could not, and the caller closes it. */
struct nl_sock *netlink_adopt(int fd);
/** A socket without automatic ACKs, or NULL with a text in why[]. */
struct nl_sock *netlink_open(char why[160]);
/** Refusals come with the kernel's text, and with the message that they are about unless `capped`. */
void netlink_want_texts(struct nl_sock *sk, bool capped);
/** The kernel's text of a refusal, or "". */
void netlink_refusal_text(const struct nlmsgerr *e, char text[160]);
/**
 * Sends a message, frees it and receives the answer. NULL: out of memory. 0 or the kernel's -errno,
 * and then the reason in why[], which may be NULL.
 */
int netlink_do(struct nl_sock *sk, struct nl_msg *msg, nl_recvmsg_msg_cb_t each, void *ctx,
	       char why[160]);

/** Datagrams that came on a socket while an answer was waited for, the oldest first. */
struct netlink_backlog {
	struct netlink_late *first;
};
/**
 * As netlink_do(), for a message with NLM_F_ACK or NLM_F_DUMP, on a non-blocking socket on which
 * events come as well: those are put off. each() gets the messages before the ACK, or those of the
 * list; NULL: they are dropped.
 */
int netlink_call(struct nl_sock *sk, struct netlink_backlog *backlog, struct nl_msg *msg,
		 void (*each)(void *ctx, struct nlmsghdr *h), void *ctx, char why[160]);
/**
 * The next datagram, put off or not, which the caller frees. Its length; -NLE_AGAIN: there is none;
 * -NLE_NOMEM: some were lost; or another error of libnl.
 */
int netlink_next(struct nl_sock *sk, struct netlink_backlog *backlog, unsigned char **bytes);
void netlink_forget(struct netlink_backlog *backlog);

#endif
