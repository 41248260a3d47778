// SPDX-License-Identifier: GPL-2.0-or-later
/* nl as and reuse: holders of the socket of a registered agent, and of its port only. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/capability.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include "nl.h"

#define NOBODY 65534

static void must(bool good, const char *what)
{
	if (!good)
		die("%s: %s", what, strerror(errno));
}

/* In this process, for good. */
static void keep_caps(uint32_t caps)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct only[2] = { 0 };

	only[0].effective = only[0].permitted = caps;
	must(!syscall(SYS_capset, &header, only), "capset");
}

static void be_nobody(void)
{
	must(!setgroups(0, NULL) && !setresgid(NOBODY, NOBODY, NOBODY) &&
		     !setresuid(NOBODY, NOBODY, NOBODY),
	     "setresuid");
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
	close(fd);
}

/* Root of a user namespace, in the same network namespace. */
static void be_mapped_root(void)
{
	/* after a change of ids its files in /proc are root's */
	must(!prctl(PR_SET_DUMPABLE, 1) && !unshare(CLONE_NEWUSER), "unshare");
	write_file("/proc/self/setgroups", "deny");
	write_file("/proc/self/uid_map", "0 65534 1");
	write_file("/proc/self/gid_map", "0 65534 1");
}

static void send_socket(int to)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec byte = { .iov_base = "s", .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &byte,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	*(int *)CMSG_DATA(cmsg) = nl_socket_get_fd(sock);
	must(sendmsg(to, &msg, 0) == 1, "sendmsg");
}

/* The one that comes takes the place of this process's own. */
static void take_socket(int from)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec into = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &into,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg;
	int fd;

	/* nothing comes if the agent was refused, which its process has reported */
	if (recvmsg(from, &msg, 0) != 1)
		exit(1);
	cmsg = CMSG_FIRSTHDR(&msg);
	must(cmsg && cmsg->cmsg_type == SCM_RIGHTS, "a message without a descriptor");
	fd = *(int *)CMSG_DATA(cmsg);
	must(dup2(fd, nl_socket_get_fd(sock)) >= 0, "dup2");
	close(fd);
}

/*
 * Opens a socket, registers it, hands it to the other end and holds it until that
 * is closed; or, if it is to be killed, prints the requests that come meanwhile.
 */
static void __attribute__((noreturn)) first_holder(const char *stub, int other, bool reads)
{
	char byte;
	int err;

	nl_socket_free(sock);
	open_socket();
	err = register_stub(stub);
	if (err)
		exit(report(err));
	send_socket(other);
	if (!reads) {
		while (read(other, &byte, 1) > 0)
			;
		_exit(0);
	}
	close(other);
	printf("first %d\nregistered %u\n", getpid(), nl_socket_get_local_port(sock));
	fflush(stdout);
	for (;;)
		if (nl_recvmsgs(sock, callbacks()) < 0)
			die("receive failed");
}

/*
 * as WHO STUB COMMAND…: the command over the socket of a registered agent. WHO
 *   root        registered it; no fault of `every` is in that
 *   net-admin   registered it and has put down all capabilities but CAP_NET_ADMIN
 *   nobody      registered it and is an ordinary user now
 *   another     never was more than an ordinary user; got the descriptor
 *   mapped      the same, and is root of a user namespace
 *   heir        as another, once who registered has been killed
 */
int cmd_as(int argc, char **argv)
{
	int ends[2], err, fault = nth;
	const char *who;
	pid_t first;

	if (argc < 3)
		die("as WHO STUB COMMAND");
	who = argv[0];
	if (!strcmp(who, "root")) {
		nth = 0;
		err = register_stub(argv[1]);
		nth = fault;
		return err ? report(err) : run(argc - 2, argv + 2);
	}
	if (!strcmp(who, "net-admin") || !strcmp(who, "nobody")) {
		err = register_stub(argv[1]);
		if (err)
			return report(err);
		if (!strcmp(who, "nobody"))
			be_nobody();
		else
			keep_caps(1U << CAP_NET_ADMIN);
		return run(argc - 2, argv + 2);
	}
	if (strcmp(who, "another") && strcmp(who, "mapped") && strcmp(who, "heir"))
		die("as: %s: nobody is so", who);
	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
	first = fork();
	must(first >= 0, "fork");
	if (!first) {
		close(ends[1]);
		first_holder(argv[1], ends[0], !strcmp(who, "heir"));
	}
	close(ends[0]);
	be_nobody();
	if (!strcmp(who, "mapped"))
		be_mapped_root();
	take_socket(ends[1]);
	if (!strcmp(who, "heir"))
		waitpid(first, NULL, 0);
	return run(argc - 2, argv + 2);
}

/*
 * reuse STUB COMMAND…: registers, closes the socket, and as an ordinary user has
 * the command tried from other sockets that are bound to the same port. Ends with
 * the first that is accepted.
 */
int cmd_reuse(int argc, char **argv)
{
	uint32_t port = nl_socket_get_local_port(sock);
	char *words[16];
	int i, try, err;

	if (argc < 2 || argc > 16)
		die("reuse STUB COMMAND");
	err = register_stub(argv[0]);
	if (err)
		return report(err);
	nl_socket_free(sock);
	be_nobody();
	for (try = 0; try < 100; try++) {
		open_socket_at(port);
		for (i = 1; i < argc; i++)
			words[i - 1] = strdup(argv[i]);
		err = run(argc - 1, words);
		if (!err)
			return 0;
		nl_socket_free(sock);
	}
	return err;
}
