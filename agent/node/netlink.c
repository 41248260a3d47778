// SPDX-License-Identifier: GPL-2.0-or-later
#include "node/netlink.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "base/log.h"

/*
 * Other processes can send, too, with CAP_NET_ADMIN in this network namespace. What they send to the
 * socket's port is refused by the kernel, as the socket is connected; what they send to a group is
 * ignored here.
 */
static int netlink_on_message(struct nl_msg *msg, void *arg)
{
	static struct log_limit limit;
	const struct sockaddr_nl *from = nlmsg_get_src(msg);

	if (!from->nl_pid)
		return NL_OK;
	if (log_allowed(&limit))
		log_warning("ignored a netlink message of port %u: only the kernel's count",
			    from->nl_pid);
	return NL_SKIP;
}

struct nl_sock *netlink_open(char why[160])
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct nl_sock *sk = nl_socket_alloc();
	int err;

	if (!sk) {
		snprintf(why, 160, "out of memory");
		return NULL;
	}
	nl_socket_disable_auto_ack(sk);
	nl_socket_modify_cb(sk, NL_CB_MSG_IN, NL_CB_CUSTOM, netlink_on_message, NULL);
	err = genl_connect(sk);
	if (!err &&
	    !connect(nl_socket_get_fd(sk), (const struct sockaddr *)&kernel, sizeof(kernel)))
		return sk;
	snprintf(why, 160, "netlink: %s", err ? nl_geterror(err) : strerror(errno));
	nl_socket_free(sk);
	return NULL;
}

struct netlink_error {
	int error; /* -errno */
	char text[160]; /* the kernel's extack text, or "" */
};

static int netlink_on_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	struct nlmsghdr *h = (struct nlmsghdr *)((char *)e - NLMSG_HDRLEN);
	struct netlink_error *to = arg;
	struct nlattr *attr;
	int left;

	to->error = e->error;
	if (h->nlmsg_flags & NLM_F_ACK_TLVS) {
		/* NETLINK_CAP_ACK is set: attributes follow, not our message */
		attr = (struct nlattr *)(e + 1);
		left = (char *)h + h->nlmsg_len - (char *)attr;
		for (; nla_ok(attr, left); attr = nla_next(attr, &left))
			if (nla_type(attr) == NLMSGERR_ATTR_MSG)
				snprintf(to->text, sizeof(to->text), "%.*s", nla_len(attr),
					 (char *)nla_data(attr));
	}
	return NL_STOP;
}

static int netlink_on_done(struct nl_msg *msg, void *arg)
{
	return NL_STOP;
}

int netlink_do(struct nl_sock *sk, struct nl_msg *msg, nl_recvmsg_msg_cb_t each, void *ctx,
	       char why[160])
{
	struct netlink_error error = { 0 };
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	int err;

	if (why)
		why[0] = '\0';
	if (!cb || !msg) {
		nl_cb_put(cb);
		nlmsg_free(msg);
		return -ENOMEM;
	}
	nl_cb_err(cb, NL_CB_CUSTOM, netlink_on_error, &error);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, netlink_on_done, NULL);
	if (each)
		nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, each, ctx);
	err = nl_send_auto(sk, msg);
	nlmsg_free(msg);
	if (err >= 0)
		err = nl_recvmsgs(sk, cb);
	nl_cb_put(cb);
	if (error.error) {
		if (why)
			snprintf(why, 160, "%s", *error.text ? error.text : strerror(-error.error));
		return error.error;
	}
	if (err < 0) {
		if (why)
			snprintf(why, 160, "netlink: %s", nl_geterror(err));
		return -EIO;
	}
	return 0;
}

void netlink_want_texts(struct nl_sock *sk, int on)
{
	setsockopt(nl_socket_get_fd(sk), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	setsockopt(nl_socket_get_fd(sk), SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
}
