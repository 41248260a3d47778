// SPDX-License-Identifier: GPL-2.0-or-later
/* nl flood and again: who asks for the same change again and again. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/ehsched.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include "nl.h"

/* Between two requests of one of them: to wait is no load, and to ask is. */
#define PAUSE_MS 100

/* cgroup -1: it asks for the node */
static void __attribute__((noreturn)) change_on(const char *file, int cgroup)
{
	struct nl_msg *msg;
	int err = 0;

	/* sockets of its own: their answers are not another's */
	open_socket();
	show_nothing = true;
	while (!err && !access(file, F_OK)) {
		msg = request(cgroup < 0 ? EHS_CMD_NODE_GET : EHS_CMD_NODE_SET, NLM_F_ACK);
		if (cgroup >= 0)
			nla_put_u32(msg, EHS_A_NODE_MANAGED_CGROUP_FD, cgroup);
		err = talk(msg);
		poll(NULL, 0, PAUSE_MS);
	}
	_exit(report(err));
}

/* flood N FILE CGROUP|-: N processes that set the node's managed cgroup, or ask for the node, while FILE is there */
int cmd_flood(int argc, char **argv)
{
	int i, cgroup = -1, status, failed = 0, start[2];
	pid_t pid;
	char none;

	if (argc != 3)
		die("flood N FILE CGROUP|-");
	if (strcmp(argv[2], "-"))
		cgroup = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (cgroup < 0 && strcmp(argv[2], "-"))
		die("%s: %s", argv[2], strerror(errno));
	/* they begin when all are there: the first would leave little of the processor to who starts the rest */
	if (pipe2(start, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	for (i = 0; i < atoi(argv[0]); i++) {
		pid = fork();
		if (pid < 0)
			die("fork: %s", strerror(errno));
		if (pid)
			continue;
		close(start[1]);
		if (read(start[0], &none, 1))
			_exit(125);
		change_on(argv[1], cgroup);
	}
	close(start[1]);
	printf("flooding\n");
	fflush(stdout);
	while (wait(&status) > 0)
		failed |= status;
	return !!failed;
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
