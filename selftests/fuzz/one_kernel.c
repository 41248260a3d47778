// SPDX-License-Identifier: GPL-2.0-or-later
/* The module's netlink family: what it is sent is lost, and the input answers. */
#include "one_inside.h"

#include <linux/ehsched.h>
#include <linux/genetlink.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <stdlib.h>
#include <string.h>

#define FAMILY 40 /* the module's, where there is one */

int genl_ctrl_resolve(struct nl_sock *sk, const char *name)
{
	return one.module ? FAMILY : -NLE_OBJ_NOTFOUND;
}

int genl_ctrl_resolve_grp(struct nl_sock *sk, const char *family, const char *group)
{
	return -NLE_OBJ_NOTFOUND;
}

int genl_ctrl_alloc_cache(struct nl_sock *sk, struct nl_cache **out)
{
	return -NLE_NOMEM;
}

static uint32_t one_sequence;

int nl_send(struct nl_sock *sk, struct nl_msg *msg)
{
	one_sequence = nlmsg_hdr(msg)->nlmsg_seq;
	return nlmsg_hdr(msg)->nlmsg_len;
}

int nl_send_auto(struct nl_sock *sk, struct nl_msg *msg)
{
	nl_complete_msg(sk, msg);
	return nl_send(sk, msg);
}

/* The datagram of this step, once, or an answer without an error where the input has none. */
int nl_recv(struct nl_sock *sk, struct sockaddr_nl *from, unsigned char **bytes,
	    struct ucred **creds)
{
	size_t n = one.datagram_size;
	struct nlmsghdr *h;

	memset(from, 0, sizeof(*from));
	from->nl_family = AF_NETLINK;
	if (!one.datagram)
		return -NLE_AGAIN;
	*bytes = malloc(n ? n : 1);
	if (!*bytes)
		return -NLE_NOMEM;
	memcpy(*bytes, one.datagram, n);
	h = (struct nlmsghdr *)*bytes;
	/* The kernel's own form: a length that fits, and the number of what was asked. */
	if (n >= sizeof(*h) && h->nlmsg_pid & 1) {
		h->nlmsg_len = n;
		h->nlmsg_seq = one_sequence;
	}
	if (n >= sizeof(*h) && h->nlmsg_pid & 2)
		h->nlmsg_type = FAMILY;
	one.datagram = NULL;
	return n;
}

void one_kernel(struct input *in)
{
	one.datagram = input_bytes(in, &one.datagram_size);
	if (one.datagram_size < NLMSG_HDRLEN)
		one.datagram = NULL;
}
