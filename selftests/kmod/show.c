// SPDX-License-Identifier: GPL-2.0-or-later
/* What the kernel says, printed as "name value" lines, and the names of its numbers. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/ehsched.h>
#include <linux/genetlink.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include "nl.h"

#define NAME(table, i) ((i) < sizeof(table) / sizeof(*(table)) ? (table)[i] : "?")

static const char *const reasons[] = {
	"none",		"not-sender",	"setuid",	"file-caps",	"traced",
	"open-files",	"namespace",	"confined",	"stub",		"placed",
	"bypass",	"guest",	"no-agent",	"agent-gone",	"time-out",
	"killed",	"no-memory",	"queue-full",	"unloading",	"redirect",
	"sender",	"explicit",	"auto",		"no-receiver",	"no-controller",
	"excluded",	"unreachable",	"refused",	"files-differ", "no-headroom",
	"guest-limit",	"root-refused", "unknown-user", "draining",	"lease-over",
	"start-failed", "lost",		"no-module",	"no-new-privs", "secureexec",
	"landlock",	"lsm",		"cgroup-bpf",	"capabilities", "agent-slow",
	"shared",	"moved",	"init",		"stays",
};
_Static_assert(sizeof(reasons) / sizeof(*reasons) == EHS_REASON_MAX + 1, "a name per reason");

static const char *const states[] = { "receiver", "ok", "sender" };
static const char *const indexes[] = { "runnable", "tasks", "cpu" };
static const char *const task_states[] = { "local", "pending", "away", "guest" };

bool show_nothing;
uint32_t show_load;

static uint32_t show_find(const char *const *table, size_t n, const char *name)
{
	char *end;
	uint32_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(table[i], name))
			return i;
	/* numbers too, for values that have no name */
	i = strtoul(name, &end, 0);
	if (*end)
		die("%s: no such name", name);
	return i;
}

#define FIND(table, name) show_find(table, sizeof(table) / sizeof(*(table)), name)

uint32_t show_reason(const char *name)
{
	return FIND(reasons, name);
}

uint32_t show_index(const char *name)
{
	return FIND(indexes, name);
}

static void show_node(struct nlmsghdr *nlh)
{
	struct nlattr *attr, *tb[EHS_A_COUNTER_MAX + 1];
	int rem;

	nlmsg_for_each_attr(attr, nlh, GENL_HDRLEN, rem) {
		if (nla_type(attr) == EHS_A_NODE_LOAD)
			show_load = nla_get_u32(attr);
		if (show_nothing)
			continue;
		switch (nla_type(attr)) {
		case EHS_A_NODE_LOAD:
			printf("load %u\n", nla_get_u32(attr));
			break;
		case EHS_A_NODE_THRESHOLD:
			printf("threshold %u\n", nla_get_u32(attr));
			break;
		case EHS_A_NODE_THRESHOLD_LENGTH:
			printf("length %u\n", nla_get_u32(attr));
			break;
		case EHS_A_NODE_STATE:
			printf("state %s\n", NAME(states, nla_get_u32(attr)));
			break;
		case EHS_A_NODE_LOAD_INDEX:
			printf("index %s\n", NAME(indexes, nla_get_u32(attr)));
			break;
		case EHS_A_NODE_WEIGHT:
			printf("weight %u\n", nla_get_u32(attr));
			break;
		case EHS_A_NODE_TIME_LIMIT:
			printf("limit %u\n", nla_get_u32(attr));
			break;
		case EHS_A_NODE_DWELL:
			printf("dwell %u\n", nla_get_u32(attr));
			break;
		case EHS_A_NODE_NO_NEW_PRIVS:
			printf("no-new-privs %u\n", nla_get_u32(attr));
			break;
		case EHS_A_NODE_MANAGED_CGROUP_ID:
			printf("managed %" PRIu64 "\n", nla_get_u64(attr));
			break;
		case EHS_A_NODE_GUEST_CGROUP_ID:
			printf("guest-cgroup %" PRIu64 "\n", nla_get_u64(attr));
			break;
		case EHS_A_NODE_ALWAYS_CGROUP_ID:
			printf("always-cgroup %" PRIu64 "\n", nla_get_u64(attr));
			break;
		case EHS_A_NODE_NETNS:
			printf("netns %u\n", nla_get_u32(attr));
			break;
		case EHS_A_NODE_AGENT_PORT:
			printf("agent %u\n", nla_get_u32(attr));
			break;
		case EHS_A_NODE_TASKS_LOCAL:
			printf("local %u\n", nla_get_u32(attr));
			break;
		case EHS_A_NODE_TASKS_GUEST:
			printf("guest %u\n", nla_get_u32(attr));
			break;
		case EHS_A_NODE_TASKS_AWAY:
			printf("away %u\n", nla_get_u32(attr));
			break;
		case EHS_A_NODE_PENDING:
			printf("pending %u\n", nla_get_u32(attr));
			break;
		case EHS_A_NODE_COUNTER:
			if (nla_parse_nested(tb, EHS_A_COUNTER_MAX, attr, NULL) ||
			    !tb[EHS_A_COUNTER_REASON] || !tb[EHS_A_COUNTER_COUNT])
				die("a counter without reason or count");
			printf("n.%s %" PRIu64 "\n",
			       NAME(reasons, nla_get_u32(tb[EHS_A_COUNTER_REASON])),
			       nla_get_u64(tb[EHS_A_COUNTER_COUNT]));
			break;
		case EHS_A_NODE_MAX_TIME_LIMIT:
			printf("max-limit %u\n", nla_get_u32(attr));
			break;
		case EHS_A_NODE_MAX_REQUESTS:
			printf("max-requests %u\n", nla_get_u32(attr));
			break;
		case EHS_A_NODE_PROCESSORS:
			printf("processors %u\n", nla_get_u32(attr));
			break;
		case EHS_A_NODE_LOAD_AGE:
			printf("load-age %u\n", nla_get_u32(attr));
			break;
		case EHS_A_NODE_PAD:
			break;
		default:
			printf("attribute-%d ?\n", nla_type(attr));
		}
	}
}

static void show_task(struct nlattr **tb)
{
	printf("%" PRIu64 " pid=%u uid=%u %s %s %s cgroup=%" PRIu64 " age=%" PRIu64 "\n",
	       nla_get_u64(tb[EHS_A_TASK_ID]), nla_get_u32(tb[EHS_A_TASK_PID]),
	       nla_get_u32(tb[EHS_A_TASK_UID]),
	       NAME(task_states, nla_get_u32(tb[EHS_A_TASK_STATE])),
	       NAME(reasons, nla_get_u32(tb[EHS_A_TASK_REASON])),
	       nla_get_string(tb[EHS_A_TASK_COMMAND]), nla_get_u64(tb[EHS_A_TASK_CGROUP_ID]),
	       time(NULL) - nla_get_u64(tb[EHS_A_TASK_STARTED]) / 1000000000);
}

static void show_eligible(struct nlattr **tb)
{
	if (!tb[EHS_A_TASK_PID] || !tb[EHS_A_TASK_REASON] || !tb[EHS_A_TASK_START_TIME])
		die("an answer without pid, reason or start time");
	printf("%s pid=%u started=%" PRIu64 "\n", NAME(reasons, nla_get_u32(tb[EHS_A_TASK_REASON])),
	       nla_get_u32(tb[EHS_A_TASK_PID]), nla_get_u64(tb[EHS_A_TASK_START_TIME]));
}

int show(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg);
	struct nlattr *tb[EHS_A_TASK_MAX + 1];
	int i;

	(void)arg;
	/* of another family: flood asks netlink itself */
	if (nlh->nlmsg_type == GENL_ID_CTRL)
		return NL_OK;
	switch (genlmsg_hdr(nlh)->cmd) {
	case EHS_CMD_NODE_NTF:
		printf("notification\n");
		/* fall through */
	case EHS_CMD_NODE_GET:
		show_node(nlh);
		break;
	case EHS_CMD_TASK_GET:
		if (genlmsg_parse(nlh, 0, tb, EHS_A_TASK_MAX, NULL))
			die("unreadable task");
		for (i = 1; i < EHS_A_TASK_PAD; i++)
			if (!tb[i])
				die("a task without attribute %d", i);
		show_task(tb);
		break;
	case EHS_CMD_TASK_ELIGIBLE:
		if (genlmsg_parse(nlh, 0, tb, EHS_A_TASK_MAX, NULL))
			die("unreadable answer");
		show_eligible(tb);
		break;
	case EHS_CMD_PLACE_REQUEST:
		take_request(nlh);
		break;
	}
	fflush(stdout);
	return NL_OK;
}
