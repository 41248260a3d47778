// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ehlaunch, started by an agent with a socket to it as descriptor 3. It reads requests and starts
 * executor's ends. It knows nothing of them afterwards: they outlive it, and their agent.
 *
 * "ehlaunch --end" is such an end at once, of the caller's user; for tests.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "helpers/ehguest/guest.h"
#include "launch.h"
#include "wire/descriptors.h"

struct packet {
	struct launch_request q;
	gid_t groups[JOB_GROUPS_MAX];
};

static void main_tell(int news, enum launch_stage stage, int error)
{
	const struct launch_news told = { .stage = stage, .error = error };

	send(news, &told, sizeof(told), MSG_NOSIGNAL);
}

static unsigned int main_wants(const struct launch_request *q)
{
	return LAUNCH_FD_FIRST_OPTION + !!(q->flags & LAUNCH_CGROUP) + !!(q->flags & LAUNCH_VIEW);
}

static bool main_is_good(const struct packet *p, size_t length, int nfds)
{
	const struct launch_request *q = &p->q;

	return length >= sizeof(*q) && q->version == LAUNCH_VERSION &&
	       q->ngroups <= JOB_GROUPS_MAX && length == sizeof(*q) + q->ngroups * sizeof(gid_t) &&
	       nfds == (int)main_wants(q);
}

/* Handles a request. False: the agent has gone. */
static bool main_serve(struct packet *p)
{
	int fds[DESCRIPTORS_MAX], nfds, err = 0;
	union descriptors room;
	struct iovec iov = { p, sizeof(*p) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	descriptors_expect(&msg, &room, DESCRIPTORS_MAX);
	n = recvmsg(LAUNCH_SOCKET, &msg, MSG_CMSG_CLOEXEC);
	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0)
		return false;
	nfds = descriptors_take(&msg, &room, fds);
	if (!main_is_good(p, n, nfds)) {
		if (nfds > LAUNCH_FD_NEWS)
			main_tell(fds[LAUNCH_FD_NEWS], LAUNCH_REQUEST, EPROTO);
	} else {
		err = end_start(&p->q, p->groups, fds);
		if (err)
			main_tell(fds[LAUNCH_FD_NEWS], LAUNCH_FORK, -err);
	}
	for (int i = 0; i < nfds; i++)
		close(fds[i]);
	return true;
}

int main(int argc, char **argv)
{
	struct packet *p;

	if (argc > 1 && !strcmp(argv[1], "--end"))
		return guest_main();
	/* Ends are reaped by the kernel; they set this back for children of their own. */
	signal(SIGCHLD, SIG_IGN);
	p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 1;
	while (main_serve(p))
		;
	return 0;
}
