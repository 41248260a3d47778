// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * manage DIRECTORY [INDEX]: makes a cgroup the managed cgroup of this node, as the agent does, and sets the load index;
 * manage -: the node manages nothing;
 * manage DIRECTORY stays STUB PROGRAM…: the node is a sender, and has an agent that names these programs to stay. Says
 * "registered"; when its input ends it says how many execs have stayed. Never gives a verdict.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <linux/ehsched.h>

static const char *const indexes[] = { "runnable", "tasks", "cpu" };

static int index_of(const char *name)
{
	for (size_t i = 0; i < sizeof(indexes) / sizeof(*indexes); i++)
		if (!strcmp(indexes[i], name))
			return i;
	return -1;
}

static int put_file(struct nl_msg *msg, int type, const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0) {
		fprintf(stderr, "manage: %s: %s\n", path, strerror(errno));
		return -1;
	}
	return nla_put_u32(msg, type, fd);
}

/* The answer to node-get; requests that nobody answered come before it. */
static int add_stayed(struct nl_msg *msg, void *arg)
{
	struct nlattr *attr, *tb[EHS_A_COUNTER_MAX + 1];
	long long *stayed = arg;
	int rem;

	if (genlmsg_hdr(nlmsg_hdr(msg))->cmd != EHS_CMD_NODE_GET)
		return NL_OK;
	*stayed = 0;
	nlmsg_for_each_attr(attr, nlmsg_hdr(msg), GENL_HDRLEN, rem)
		if (nla_type(attr) == EHS_A_NODE_COUNTER &&
		    !nla_parse_nested(tb, EHS_A_COUNTER_MAX, attr, NULL) &&
		    tb[EHS_A_COUNTER_REASON] && tb[EHS_A_COUNTER_COUNT] &&
		    nla_get_u32(tb[EHS_A_COUNTER_REASON]) == EHS_REASON_STAYS)
			*stayed = nla_get_u64(tb[EHS_A_COUNTER_COUNT]);
	return NL_OK;
}

static int say_stayed(struct nl_sock *sk, int family)
{
	long long stayed = -1;
	int err;

	nl_socket_modify_cb(sk, NL_CB_VALID, NL_CB_CUSTOM, add_stayed, &stayed);
	nl_socket_disable_seq_check(sk);
	err = genl_send_simple(sk, family, EHS_CMD_NODE_GET, EHS_FAMILY_VERSION, 0);
	while (err >= 0 && stayed < 0)
		err = nl_recvmsgs_default(sk);
	printf("%lld\n", stayed);
	return err < 0 ? -1 : 0;
}

/* An agent with a stub and programs that stay. */
static int be_agent(struct nl_sock *sk, int family, int count, char **files)
{
	struct nl_msg *stub = nlmsg_alloc(), *programs = nlmsg_alloc_size(16384);
	int i, err;
	char byte;

	if (!stub || !programs)
		return -1;
	genlmsg_put(stub, 0, 0, family, 0, 0, EHS_CMD_AGENT_REGISTER, EHS_FAMILY_VERSION);
	genlmsg_put(programs, 0, 0, family, 0, 0, EHS_CMD_PROGRAMS_SET, EHS_FAMILY_VERSION);
	for (i = 0; i < count; i++)
		if (put_file(i ? programs : stub, i ? EHS_A_AGENT_PROGRAM_FD : EHS_A_AGENT_STUB_FD,
			     files[i]))
			return -1;
	err = nl_send_sync(sk, stub);
	if (err >= 0)
		err = nl_send_sync(sk, programs);
	if (err < 0) {
		fprintf(stderr, "manage: agent: %s\n", nl_geterror(err));
		return -1;
	}
	puts("registered");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return say_stayed(sk, family);
}

int main(int argc, char **argv)
{
	bool stays = argc > 4 && !strcmp(argv[2], "stays");
	struct nl_sock *sk = nl_socket_alloc();
	struct nl_msg *msg = nlmsg_alloc();
	int family, fd = -1, err, load_index = argc > 2 ? index_of(stays ? "tasks" : argv[2]) : 0;

	if (argc < 2 || (argc > 3 && !stays) || load_index < 0 || !sk || !msg) {
		fprintf(stderr, "usage: manage DIRECTORY [runnable|tasks|cpu] | manage - |\n"
				"manage DIRECTORY stays STUB PROGRAM…\n");
		return 2;
	}
	if (strcmp(argv[1], "-"))
		fd = open(argv[1], O_RDONLY | O_DIRECTORY);
	if (fd < 0 && strcmp(argv[1], "-")) {
		fprintf(stderr, "manage: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	err = genl_connect(sk);
	family = err ? err : genl_ctrl_resolve(sk, EHS_FAMILY_NAME);
	if (family < 0) {
		fprintf(stderr, "manage: family %s: %s\n", EHS_FAMILY_NAME, nl_geterror(family));
		return 1;
	}
	genlmsg_put(msg, 0, 0, family, 0, 0, EHS_CMD_NODE_SET, EHS_FAMILY_VERSION);
	if (fd >= 0)
		nla_put_u32(msg, EHS_A_NODE_MANAGED_CGROUP_FD, fd);
	else
		nla_put_flag(msg, EHS_A_NODE_CLEAR_CGROUPS);
	nla_put_u32(msg, EHS_A_NODE_LOAD_INDEX, load_index);
	/* Never a sender: what a placement that stays at home costs. Or always one. */
	nla_put_u32(msg, EHS_A_NODE_THRESHOLD, stays ? 0 : EHS_MAX_LOAD);
	nla_put_u32(msg, EHS_A_NODE_THRESHOLD_LENGTH, stays ? 0 : 1000);
	err = nl_send_sync(sk, msg);
	if (err < 0)
		fprintf(stderr, "manage: node-set: %s\n", nl_geterror(err));
	else if (stays)
		err = be_agent(sk, family, argc - 3, argv + 3);
	nl_socket_free(sk);
	return err < 0;
}
