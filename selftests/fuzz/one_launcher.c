// SPDX-License-Identifier: GPL-2.0-or-later
/* ehlaunch: what it is asked is kept, and the input answers. */
#include "one_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ehlaunch.h"
#include "wire/descriptors.h"

int ehlaunch_init(struct agent *agent)
{
	return 0;
}

bool ehlaunch_tells(const struct agent *agent)
{
	return true;
}

void ehlaunch_reload(struct agent *agent, const struct config *old)
{
}

unsigned int ehlaunch_starts(const struct agent *agent)
{
	return 1;
}

enum ehlaunch_rules ehlaunch_rules(const struct agent *agent)
{
	return EHLAUNCH_SAME;
}

bool ehlaunch_is_apart(const struct agent *agent)
{
	return false;
}

void ehlaunch_exit(struct agent *agent)
{
}

/* What the agent gives away is an end, too: the other side of a job, of a view, of ehlook. */
int ehlaunch_ask(struct agent *agent, const struct ehlaunch_request *q)
{
	int pair[2];

	if (one.nnews == ONE_ENDS ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -EAGAIN;
	one.news[one.nnews++] = pair[1];
	for (unsigned int i = 0; i < q->nfds; i++) {
		int fd = fcntl(q->fds[i], F_DUPFD_CLOEXEC, 0);

		if (fd >= 0)
			one_end_new(fd);
	}
	return pair[0];
}

/* No process gets a signal, whatever number ehlaunch says. */
int kill(pid_t pid, int sig)
{
	errno = ESRCH;
	return -1;
}

void one_launched(struct input *in)
{
	struct launch_registered told = { .news = { input_byte(in) % LAUNCH_STAGES, input_byte(in),
						    0 } };
	struct iovec iov = { &told, sizeof(told.news) + input_byte(in) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fds[DESCRIPTORS_MAX], n = input_byte(in) & 3;
	union descriptors room;

	if (!one.nnews)
		return;
	told.news.pid = 0x7ffffff0; /* of no process */
	if (iov.iov_len > sizeof(told))
		iov.iov_len = sizeof(told);
	for (int i = 0; i < n; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
			exit(1);
		fds[i] = pair[0];
		one_end_new(pair[1]);
	}
	/* That of the module is a netlink socket. */
	if (n == 3) {
		close(fds[0]);
		fds[0] = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	}
	if (n)
		descriptors_put(&msg, &room, fds, n);
	sendmsg(one.news[0], &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	for (int i = 0; i < n; i++)
		close(fds[i]);
	close(one.news[0]);
	one.nnews--;
	memmove(one.news, one.news + 1, one.nnews * sizeof(one.news[0]));
}
