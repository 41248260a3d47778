// SPDX-License-Identifier: GPL-2.0-or-later
#include "node/netlink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <utlist.h>

#include "base/log.h"

/*
 * Other processes can send, too, with CAP_NET_ADMIN in this network namespace. The kernel refuses
 * messages to the socket's port, as the socket is connected; messages to a group are ignored here.
 */
static bool netlink_is_kernels(const struct sockaddr_nl *from)
{
	static struct log_limit limit;

	if (!from->nl_pid)
		return true;
	if (log_allowed(&limit))
		log_warning("ignored a netlink message from port %u: only the kernel may send them",
			    from->nl_pid);
	return false;
}

static int netlink_on_message(struct nl_msg *msg, void *arg)
{
	return netlink_is_kernels(nlmsg_get_src(msg)) ? NL_OK : NL_SKIP;
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

void netlink_refusal_text(const struct nlmsgerr *e, char text[160])
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)((const char *)e - NLMSG_HDRLEN);
	const char *end = (const char *)h + h->nlmsg_len, *at = (const char *)(e + 1);
	struct nlattr *attr;
	int left;

	text[0] = '\0';
	/* the rest of our own message is in between */
	if (!(h->nlmsg_flags & NLM_F_CAPPED))
		at += NLMSG_ALIGN(e->msg.nlmsg_len) - sizeof(e->msg);
	left = end - at;
	attr = (struct nlattr *)at;
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	for (; nla_ok(attr, left); attr = nla_next(attr, &left))
		if (nla_type(attr) == NLMSGERR_ATTR_MSG)
			snprintf(text, 160, "%.*s", nla_len(attr), (char *)nla_data(attr));
}

static int netlink_on_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	struct netlink_error *to = arg;

	to->error = e->error;
	netlink_refusal_text(e, to->text);
	return NL_STOP;
}

static int netlink_on_done(struct nl_msg *msg, void *arg)
{
	return NL_STOP;
}

/* The return value of a call that libnl has ended with `err`. */
static int netlink_result(const struct netlink_error *error, int err, char why[160])
{
	if (error->error) {
		if (why)
			snprintf(why, 160, "%s",
				 *error->text ? error->text : strerror(-error->error));
		return error->error;
	}
	if (err < 0) {
		if (why)
			snprintf(why, 160, "netlink: %s", nl_geterror(err));
		return -EIO;
	}
	return 0;
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
	return netlink_result(&error, err, why);
}

/* ---- a socket on which events come, too ---- */

struct netlink_late {
	struct netlink_late *prev, *next;
	unsigned char *bytes;
	int n;
};

/* A datagram of the kernel's. Its length, or an error of libnl: -NLE_AGAIN if there is none. */
static int netlink_read(struct nl_sock *sk, unsigned char **bytes)
{
	struct sockaddr_nl from = { 0 };
	int n;

	for (;;) {
		*bytes = NULL;
		n = nl_recv(sk, &from, bytes, NULL);
		if (n <= 0)
			return n ? n : -NLE_AGAIN;
		if (netlink_is_kernels(&from))
			return n;
		free(*bytes);
	}
}

static void netlink_put_off(struct netlink_backlog *backlog, unsigned char *bytes, int n)
{
	struct netlink_late *late = malloc(sizeof(*late));

	if (!late) {
		log_warning("a placement request was lost: out of memory");
		free(bytes);
		return;
	}
	*late = (struct netlink_late){ .bytes = bytes, .n = n };
	DL_APPEND(backlog->first, late);
}

int netlink_next(struct nl_sock *sk, struct netlink_backlog *backlog, unsigned char **bytes)
{
	struct netlink_late *late = backlog->first;
	int n;

	if (!late)
		return netlink_read(sk, bytes);
	*bytes = late->bytes;
	n = late->n;
	DL_DELETE(backlog->first, late);
	free(late);
	return n;
}

void netlink_forget(struct netlink_backlog *backlog)
{
	unsigned char *bytes;

	while (backlog->first) {
		netlink_next(NULL, backlog, &bytes);
		free(bytes);
	}
}

/* Sends the message and frees it. Its number, or an error of libnl. */
static int64_t netlink_begin(struct nl_sock *sk, struct netlink_backlog *backlog,
			     struct nl_msg *msg)
{
	unsigned char *bytes;
	uint32_t seq;
	int n, err;

	/* The kernel drops an answer for which there is no room. Earlier losses stay lost. */
	while ((n = netlink_read(sk, &bytes)) > 0 || n == -NLE_NOMEM)
		if (n > 0)
			netlink_put_off(backlog, bytes, n);
	nl_complete_msg(sk, msg);
	seq = nlmsg_hdr(msg)->nlmsg_seq;
	err = nl_send(sk, msg);
	nlmsg_free(msg);
	return err < 0 ? err : (int64_t)seq;
}

/* An answer, or what there is of it in this datagram. Whether it is the end. */
static bool netlink_take(struct nlmsghdr *h, int n, struct netlink_error *error,
			 void (*each)(void *ctx, struct nlmsghdr *h), void *ctx)
{
	for (; nlmsg_ok(h, n); h = nlmsg_next(h, &n)) {
		if (h->nlmsg_type == NLMSG_DONE)
			return true;
		if (h->nlmsg_type == NLMSG_ERROR &&
		    h->nlmsg_len >= NLMSG_HDRLEN + sizeof(struct nlmsgerr)) {
			netlink_on_error(NULL, nlmsg_data(h), error);
			return true;
		}
		if (each)
			each(ctx, h);
	}
	return false;
}

int netlink_call(struct nl_sock *sk, struct netlink_backlog *backlog, struct nl_msg *msg,
		 void (*each)(void *ctx, struct nlmsghdr *h), void *ctx, char why[160])
{
	struct netlink_error error = { 0 };
	unsigned char *bytes;
	bool over = false;
	int64_t seq;
	int n;

	if (why)
		why[0] = '\0';
	if (!msg)
		return -ENOMEM;
	seq = netlink_begin(sk, backlog, msg);
	if (seq < 0)
		return netlink_result(&error, seq, why);
	/*
	 * It answers while we send, but others of its messages may come before the answer. Of a list it
	 * sends the next part when this one was read. Each answer is in a datagram of its own.
	 */
	while (!over) {
		struct nlmsghdr *h;

		n = netlink_read(sk, &bytes);
		if (n == -NLE_NOMEM)
			continue;
		if (n < 0)
			return netlink_result(&error, n, why);
		h = (struct nlmsghdr *)bytes;
		if (!nlmsg_ok(h, n) || h->nlmsg_seq != seq) {
			netlink_put_off(backlog, bytes, n);
			continue;
		}
		over = netlink_take(h, n, &error, each, ctx);
		free(bytes);
	}
	return netlink_result(&error, 0, why);
}

void netlink_want_texts(struct nl_sock *sk, bool capped)
{
	const int on = 1, cap = capped;

	setsockopt(nl_socket_get_fd(sk), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	setsockopt(nl_socket_get_fd(sk), SOL_NETLINK, NETLINK_CAP_ACK, &cap, sizeof(cap));
}

struct nl_sock *netlink_adopt(int fd)
{
	struct nl_sock *sk = nl_socket_alloc();

	if (!sk)
		return NULL;
	nl_socket_disable_auto_ack(sk);
	nl_socket_disable_seq_check(sk);
	if (nl_socket_set_fd(sk, NETLINK_GENERIC, fd)) {
		nl_socket_free(sk);
		return NULL;
	}
	return sk;
}
