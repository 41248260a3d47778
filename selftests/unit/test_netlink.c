// SPDX-License-Identifier: GPL-2.0-or-later
/* A socket on which answers and events come: netlink_call(), with the kernel's own family nlctrl. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <linux/genetlink.h>
#include <netlink/errno.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/socket.h>

#include "node/netlink.h"

#define TOO_LONG "a name that is longer than the name of any family"

static struct nl_sock *open_one(void)
{
	char why[160];
	struct nl_sock *sk = netlink_open(why);

	if (!sk)
		fail_msg("%s", why);
	nl_socket_set_nonblocking(sk);
	netlink_want_texts(sk, false);
	return sk;
}

static struct nl_msg *about(const char *family, int flags)
{
	struct nl_msg *msg = nlmsg_alloc();

	assert_non_null(msg);
	assert_non_null(genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, GENL_ID_CTRL, 0,
				    NLM_F_REQUEST | flags, CTRL_CMD_GETFAMILY, 1));
	assert_int_equal(nla_put_string(msg, CTRL_ATTR_FAMILY_NAME, family), 0);
	return msg;
}

/* Sends and reads no answer: that is an event to come. Its number. */
static uint32_t event(struct nl_sock *sk, const char *family)
{
	struct nl_msg *msg = about(family, 0);
	uint32_t seq;

	nl_complete_msg(sk, msg);
	seq = nlmsg_hdr(msg)->nlmsg_seq;
	assert_true(nl_send(sk, msg) > 0);
	nlmsg_free(msg);
	return seq;
}

/* The next event is a message of this type and number. */
static unsigned char *next(struct nl_sock *sk, struct netlink_backlog *backlog, uint16_t type,
			   uint32_t seq)
{
	unsigned char *bytes;
	int n = netlink_next(sk, backlog, &bytes);
	struct nlmsghdr *h = (struct nlmsghdr *)bytes;

	assert_true(nlmsg_ok(h, n));
	assert_int_equal(h->nlmsg_type, type);
	assert_int_equal(h->nlmsg_seq, seq);
	return bytes;
}

static void count(void *ctx, struct nlmsghdr *h)
{
	assert_int_equal(h->nlmsg_type, GENL_ID_CTRL);
	++*(int *)ctx;
}

static void test_between(void **state)
{
	struct netlink_backlog backlog = { 0 };
	struct nl_sock *sk = open_one();
	uint32_t first, refused, second, third;
	unsigned char *bytes;
	char why[160], text[160];
	int answers = 0;

	first = event(sk, "nlctrl");
	refused = event(sk, TOO_LONG);
	second = event(sk, "nlctrl");
	assert_int_equal(netlink_call(sk, &backlog, about("no-such", NLM_F_ACK), NULL, NULL, why),
			 -ENOENT);
	assert_string_not_equal(why, "");
	third = event(sk, "nlctrl");
	/* one that is accepted has an answer of its own, too, before the ACK */
	assert_int_equal(
		netlink_call(sk, &backlog, about("nlctrl", NLM_F_ACK), count, &answers, why), 0);
	assert_int_equal(answers, 1);
	assert_string_equal(why, "");
	assert_int_equal(netlink_call(sk, &backlog, about("nlctrl", NLM_F_ACK), NULL, NULL, why),
			 0);
	assert_string_equal(why, "");
	/* a refusal with a text, and the whole of our message before it */
	assert_true(netlink_call(sk, &backlog, about(TOO_LONG, NLM_F_ACK), NULL, NULL, why) < 0);
	assert_non_null(strstr(why, "policy"));
	assert_int_equal(netlink_call(sk, &backlog, NULL, NULL, NULL, why), -ENOMEM);

	free(next(sk, &backlog, GENL_ID_CTRL, first));
	bytes = next(sk, &backlog, NLMSG_ERROR, refused);
	netlink_refusal_text(nlmsg_data((struct nlmsghdr *)bytes), text);
	assert_non_null(strstr(text, "policy"));
	free(bytes);
	free(next(sk, &backlog, GENL_ID_CTRL, second));
	/* what comes while others are put off is behind them */
	event(sk, "nlctrl");
	free(next(sk, &backlog, GENL_ID_CTRL, third));
	assert_null(backlog.first);
	assert_true(netlink_next(sk, &backlog, &bytes) > 0);
	free(bytes);
	assert_int_equal(netlink_next(sk, &backlog, &bytes), -NLE_AGAIN);
	nl_socket_free(sk);
}

/* More events than the socket has room for: they are lost, the answer is not. */
static void test_full(void **state)
{
	struct netlink_backlog backlog = { 0 };
	struct nl_sock *sk = open_one();
	int i, lost = 0, n;
	unsigned char *bytes;
	char why[160];

	nl_socket_set_buffer_size(sk, 8192, 0);
	for (i = 0; i < 200; i++)
		event(sk, "nlctrl");
	assert_int_equal(netlink_call(sk, &backlog, about("no-such", NLM_F_ACK), NULL, NULL, why),
			 -ENOENT);
	for (i = 0; (n = netlink_next(sk, &backlog, &bytes)) > 0; i++)
		free(bytes);
	assert_int_equal(n, -NLE_AGAIN);
	lost = 200 - i;
	assert_true(i > 0 && lost > 0);
	nl_socket_free(sk);
}

static void test_forget(void **state)
{
	struct netlink_backlog backlog = { 0 };
	struct nl_sock *sk = open_one();
	unsigned char *bytes;

	event(sk, "nlctrl");
	event(sk, "nlctrl");
	assert_int_equal(netlink_call(sk, &backlog, about("no-such", NLM_F_ACK), NULL, NULL, NULL),
			 -ENOENT);
	netlink_forget(&backlog);
	netlink_forget(&backlog);
	assert_int_equal(netlink_next(sk, &backlog, &bytes), -NLE_AGAIN);
	nl_socket_free(sk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_between),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
