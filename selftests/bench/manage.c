// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * manage DIRECTORY [INDEX]: makes a cgroup the managed cgroup of this node, as the agent does, and sets the load index;
 * manage -: the node manages nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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

int main(int argc, char **argv)
{
	struct nl_sock *sk = nl_socket_alloc();
	struct nl_msg *msg = nlmsg_alloc();
	int family, fd = -1, err, load_index = argc > 2 ? index_of(argv[2]) : 0;

	if (argc < 2 || argc > 3 || load_index < 0 || !sk || !msg) {
		fprintf(stderr, "usage: manage DIRECTORY [runnable|tasks|cpu] | manage -\n");
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
	/* Never a sender: what a placement that stays at home costs. */
	nla_put_u32(msg, EHS_A_NODE_THRESHOLD, EHS_MAX_LOAD);
	err = nl_send_sync(sk, msg);
	if (err < 0)
		fprintf(stderr, "manage: node-set: %s\n", nl_geterror(err));
	nl_socket_free(sk);
	return err < 0;
}
