// SPDX-License-Identifier: GPL-2.0-or-later
#include "verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/ehsched.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>

bool verdict_kernel_complains(int kmsg)
{
	static const char *const expected[] = { "netlink: ", "hrtimer: interrupt took",
						"clocksource: ", NULL };
	static unsigned int shown;
	char record[8192];
	bool complains = false;
	ssize_t got;

	for (;;) {
		const char *text;
		size_t i;

		got = read(kmsg, record, sizeof(record) - 1);
		if (got < 0 && errno == EPIPE)
			continue; /* overwritten before it was read */
		if (got <= 0)
			return complains;
		record[got] = '\0';
		text = strchr(record, ';');
		/* the number before the first comma is facility and level */
		if (!text || (atoi(record) & 7) > 4 || atoi(record) >> 3)
			continue;
		text++;
		for (i = 0; expected[i] && strncmp(text, expected[i], strlen(expected[i])); i++)
			;
		if (expected[i] || strstr(text, "callbacks suppressed"))
			continue;
		/* the beginning; all of it is in the guest's console */
		if (shown++ < 12)
			printf("# kernel: %.*s\n", (int)strcspn(text, "\n"), text);
		complains = true;
	}
}

struct view {
	uint32_t busy;
	unsigned int nodes, agents;
};

static int on_node(struct nl_msg *msg, void *arg)
{
	static const int zero[] = { EHS_A_NODE_TASKS_LOCAL, EHS_A_NODE_TASKS_GUEST,
				    EHS_A_NODE_TASKS_AWAY, EHS_A_NODE_PENDING };
	struct nlattr *tb[EHS_A_NODE_MAX + 1];
	struct view *view = arg;
	size_t i;

	if (genlmsg_parse(nlmsg_hdr(msg), 0, tb, EHS_A_NODE_MAX, NULL))
		return NL_SKIP;
	view->nodes++;
	view->agents += !!tb[EHS_A_NODE_AGENT_PORT];
	for (i = 0; i < sizeof(zero) / sizeof(*zero); i++)
		view->busy += tb[zero[i]] ? nla_get_u32(tb[zero[i]]) : 1;
	return NL_OK;
}

/* All nodes, as an administrator sees them. Return: 0 or libnl's error. */
static int look(struct nl_sock *sock, int family, struct view *view)
{
	int err;

	memset(view, 0, sizeof(*view));
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_node, view);
	err = genl_send_simple(sock, family, EHS_CMD_NODE_GET, EHS_FAMILY_VERSION, NLM_F_DUMP);
	return err < 0 ? err : nl_recvmsgs_default(sock);
}

bool verdict_nothing_left(struct nl_sock *sock, int family)
{
	time_t end = time(NULL) + 30;
	struct view view;
	int err;

	do {
		err = look(sock, family, &view);
		if (!err && view.nodes == 1 && !view.agents && !view.busy)
			return true;
		poll(NULL, 0, 50);
	} while (time(NULL) < end);
	if (err)
		printf("# node-get: %s\n", nl_geterror(err));
	else
		printf("# 30 s after the end: %u nodes, %u agents, %u tasks and requests\n",
		       view.nodes, view.agents, view.busy);
	return false;
}

bool verdict_set_back(struct nl_sock *sock, int family)
{
	struct nl_msg *msg = nlmsg_alloc();
	int fd = open("/sys/module/ehsched/parameters/intercept", O_WRONLY | O_CLOEXEC);
	bool on = fd >= 0 && write(fd, "Y", 1) == 1;
	int err;

	close(fd);
	if (!msg || !on)
		return false;
	genlmsg_put(msg, 0, 0, family, 0, 0, EHS_CMD_NODE_SET, EHS_FAMILY_VERSION);
	nla_put_flag(msg, EHS_A_NODE_CLEAR_CGROUPS);
	nla_put_u32(msg, EHS_A_NODE_THRESHOLD, sysconf(_SC_NPROCESSORS_ONLN) * 1000);
	nla_put_u32(msg, EHS_A_NODE_THRESHOLD_LENGTH, 1000);
	nla_put_u32(msg, EHS_A_NODE_LOAD_INDEX, EHS_INDEX_RUNNABLE);
	nla_put_u32(msg, EHS_A_NODE_WEIGHT, 1000);
	nla_put_u32(msg, EHS_A_NODE_MAX_TIME_LIMIT, EHS_MAX_TIME_LIMIT);
	nla_put_u32(msg, EHS_A_NODE_MAX_REQUESTS, EHS_MAX_REQUESTS);
	nla_put_u32(msg, EHS_A_NODE_NO_NEW_PRIVS, 0);
	nla_put_u32(msg, EHS_A_NODE_TIME_LIMIT, 100);
	nla_put_u32(msg, EHS_A_NODE_DWELL, 1000);
	nla_put_u32(msg, EHS_A_NODE_PROCESSORS, 0);
	err = nl_send_sync(sock, msg);
	if (err)
		printf("# node-set: %s\n", nl_geterror(err));
	return !err;
}
