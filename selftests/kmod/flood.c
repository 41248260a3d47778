// SPDX-License-Identifier: GPL-2.0-or-later
/* nl flood and again: the same requests again and again. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/ehsched.h>
#include <linux/genetlink.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include "nl.h"

/* Between two requests of one of them: to wait is no load, and to ask is. */
#define PAUSE_MS 100

/* What each of them does again and again. */
enum flood_what {
	FLOOD_FAMILY, /* asks netlink for the family */
	FLOOD_NODE, /* asks for the node of a network namespace of its own */
	FLOOD_CGROUP, /* sets a managed cgroup of the node, and clears it */
	FLOOD_AGENT, /* registers as the agent of the node */
};

static struct nl_msg *flood_request(enum flood_what what, int cgroup, bool set)
{
	struct nl_msg *msg;

	if (what == FLOOD_FAMILY) {
		msg = nlmsg_alloc();
		if (!msg || !genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, GENL_ID_CTRL, 0, NLM_F_ACK,
					 CTRL_CMD_GETFAMILY, 1))
			die("no memory");
		nla_put_string(msg, CTRL_ATTR_FAMILY_NAME, EHS_FAMILY_NAME);
		return msg;
	}
	msg = request(what == FLOOD_NODE ? EHS_CMD_NODE_GET : EHS_CMD_NODE_SET, NLM_F_ACK);
	if (what == FLOOD_CGROUP && set)
		nla_put_u32(msg, EHS_A_NODE_MANAGED_CGROUP_FD, cgroup);
	else if (what == FLOOD_CGROUP)
		nla_put_flag(msg, EHS_A_NODE_CLEAR_CGROUPS);
	return msg;
}

static void __attribute__((noreturn))
flood_on(const char *file, enum flood_what what, const char *path, int cgroup)
{
	bool set = false;
	int err = 0;

	/* sockets of its own: their answers are not another's */
	open_socket();
	show_nothing = true;
	while (!err && !access(file, F_OK)) {
		set = !set;
		err = what == FLOOD_AGENT ? register_stub(path)
					  : talk(flood_request(what, cgroup, set));
		poll(NULL, 0, PAUSE_MS);
	}
	_exit(report(err));
}

/* flood N FILE family|node|CGROUP|STUB: N processes that do this while FILE is there */
int cmd_flood(int argc, char **argv)
{
	enum flood_what what = FLOOD_CGROUP;
	int i, cgroup = -1, status, failed = 0, start[2], ready[2];
	pid_t pid;
	char none;

	if (argc != 3)
		die("flood N FILE family|node|CGROUP|STUB");
	if (!strcmp(argv[2], "family"))
		what = FLOOD_FAMILY;
	else if (!strcmp(argv[2], "node"))
		what = FLOOD_NODE;
	else
		cgroup = open(argv[2], O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	if (what == FLOOD_CGROUP && cgroup < 0 && errno == ENOTDIR)
		what = FLOOD_AGENT;
	if (what == FLOOD_CGROUP && cgroup < 0)
		die("%s: %s", argv[2], strerror(errno));
	/* they begin when all are there: the first would leave little of the processor to who starts the rest */
	if (pipe2(start, O_CLOEXEC) || pipe2(ready, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	for (i = 0; i < atoi(argv[0]); i++) {
		pid = fork();
		if (pid < 0)
			die("fork: %s", strerror(errno));
		if (pid)
			continue;
		if (what == FLOOD_NODE && unshare(CLONE_NEWNET))
			die("unshare: %s", strerror(errno));
		close(start[1]);
		close(ready[0]);
		close(ready[1]);
		if (read(start[0], &none, 1))
			_exit(125);
		flood_on(argv[1], what, argv[2], cgroup);
	}
	close(ready[1]);
	if (read(ready[0], &none, 1))
		die("ready: %s", strerror(errno));
	close(start[1]);
	printf("flooding\n");
	fflush(stdout);
	while (wait(&status) > 0)
		failed |= status;
	return !!failed;
}

/* slowest N: how long the slowest of N questions for the family took, ms */
int cmd_slowest(int argc, char **argv)
{
	struct timespec from, to;
	long us, most = 0;
	int i, err = 0;

	if (argc != 1)
		die("slowest N");
	for (i = 0; i < atoi(argv[0]) && !err; i++) {
		clock_gettime(CLOCK_MONOTONIC, &from);
		err = talk(flood_request(FLOOD_FAMILY, -1, false));
		clock_gettime(CLOCK_MONOTONIC, &to);
		us = (to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000;
		most = us > most ? us : most;
	}
	printf("%ld\n", most / 1000);
	return report(err);
}

/* while FILE COMMAND…: a command, again and again while FILE is there */
int cmd_while(int argc, char **argv)
{
	int err = 0;

	if (argc < 2)
		die("while FILE COMMAND…");
	while (!err && !access(argv[0], F_OK))
		err = run(argc - 1, argv + 1);
	return err;
}

/* again STUB FILE: an agent that registers again and again while FILE is there, and never answers */
int cmd_again(int argc, char **argv)
{
	int n = 0, err = 0;

	if (argc != 2)
		die("again STUB FILE");
	while (!err && !access(argv[1], F_OK)) {
		err = register_stub(argv[0]);
		if (!n++)
			printf("registered %u\n", nl_socket_get_local_port(sock));
		fflush(stdout);
	}
	printf("%d times\n", n);
	return report(err);
}
