// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ehlaunch, started by an agent with a socket to it as descriptor 3. It does what needs root's rights,
 * or another user's, and holds nothing for the agent: what it has started outlives both. The agent
 * only asks: what the site permits is in the arguments, and decided here.
 *
 * "ehlaunch --end" is an executor's end at once, of the caller's user; for tests.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "helpers/ehguest/guest.h"
#include "launch.h"

struct rules rules;

/* What the agent may ask for. */
static const struct main_kind {
	bool (*is_good)(const struct request *r);
	/* Answers when it is done, or has failed. -errno: it has not even begun. */
	int (*serve)(const struct request *r);
} main_kinds[LAUNCH_KINDS] = {
	[LAUNCH_START] = { end_is_good, end_start },
	[LAUNCH_KILL] = { cgroup_kill_is_good, cgroup_kill },
};

void tell(int news, enum launch_stage stage, int error)
{
	const struct launch_news told = { .stage = stage, .error = error };

	send(news, &told, sizeof(told), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void main_answer(const struct request *r)
{
	int err;

	if (r->nfds <= LAUNCH_FD_NEWS)
		return;
	if (r->length < sizeof(r->head) || r->head.version != LAUNCH_VERSION ||
	    r->head.kind >= LAUNCH_KINDS || !main_kinds[r->head.kind].is_good(r)) {
		tell(r->fds[LAUNCH_FD_NEWS], LAUNCH_REQUEST, EPROTO);
		return;
	}
	err = main_kinds[r->head.kind].serve(r);
	if (err)
		tell(r->fds[LAUNCH_FD_NEWS], LAUNCH_FORK, -err);
}

/* Takes one request. False: the agent has gone. */
static bool main_serve(struct request *r)
{
	union descriptors room;
	struct iovec iov = { &r->head, sizeof(*r) - offsetof(struct request, head) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	descriptors_expect(&msg, &room, DESCRIPTORS_MAX);
	n = recvmsg(LAUNCH_SOCKET, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n <= 0)
		return false;
	r->length = n;
	r->nfds = descriptors_take(&msg, &room, r->fds);
	main_answer(r);
	for (int i = 0; i < r->nfds; i++)
		close(r->fds[i]);
	return true;
}

int main(int argc, char **argv)
{
	enum { AGENT, KNOWN, CGROUP, COUNT };
	struct pollfd p[COUNT] = { [AGENT] = { .fd = LAUNCH_SOCKET, .events = POLLIN } };
	char *users[argc + 1];
	struct request *r;

	if (argc > 1 && !strcmp(argv[1], "--end"))
		return guest_main();
	if (rules_parse(&rules, users, argc, argv))
		return 2;
	p[KNOWN] = (struct pollfd){ .fd = known_open(), .events = POLLIN };
	if (p[KNOWN].fd < 0)
		return 1;
	p[CGROUP] = (struct pollfd){ .fd = rules.cgroup ? cgroup_open(rules.cgroup) : -1,
				     .events = POLLIN };
	/* Ends are reaped by the kernel; they set this back for children of their own. */
	signal(SIGCHLD, SIG_IGN);
	r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r == MAP_FAILED)
		return 1;
	tell(LAUNCH_SOCKET, LAUNCH_READY, 0);
	do {
		poll(p, COUNT, -1);
		if (p[KNOWN].revents)
			known_take();
		if (p[CGROUP].revents)
			cgroup_take();
	} while (main_serve(r));
	return 0;
}
