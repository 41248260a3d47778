// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process that ends when its agent closes the other end of the socket for its answer, or dies, and
 * with it what it has started: both are a process group, and get SIGKILL. The keeper has ehlaunch's
 * ids and the signal is the kernel's, so that the user can neither stop nor kill it, and nothing of a
 * view outlives its agent because the user wants that.
 *
 * A side of a view stays when its agent has ended, once it is made: its keeper waits for the next agent,
 * and has what that needs. It does nothing else then, and never looks into the view: the end of the
 * child, a word of the agent and the limit are all that it waits for.
 */
#include "keep.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/end/calls.h"
#include "helpers/end/hop.h"
#include "job/backoff.h"

#define KEEP_PAUSE_MS 20 /* between two tries to find an agent; then twice as long each time */
#define KEEP_PAUSE_MAX_MS 500

static pid_t keep_parent; /* the ehlaunch that has started this */

void keep_begin(const struct request *r)
{
	const int news = r->fds[LAUNCH_FD_NEWS];
	struct pollfd p = { .fd = news };
	int flags = fcntl(news, F_GETFL);

	keep_parent = getppid();
	prctl(PR_SET_NAME, "ehkeep");
	r->forget_agents();
	signal(SIGCHLD, SIG_DFL);
	calls_mask(0);
	/*
	 * All of the group: while the kernel waits here for an answer of ehview, only the end of
	 * ehview helps. The agent never sends anything.
	 */
	if (setpgid(0, 0) || flags < 0 || fcntl(news, F_SETOWN, -getpid()) ||
	    fcntl(news, F_SETSIG, SIGKILL) || fcntl(news, F_SETFL, flags | O_ASYNC) ||
	    poll(&p, 1, 0))
		_exit(1);
}

void keep_child(pid_t parent, int nice)
{
	/* As a user: a request cannot give it a higher priority than ehlaunch has. */
	setpriority(PRIO_PROCESS, 0, nice);
	/* If the keeper is killed by others. */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(1);
}

void keep(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	_exit(0);
}

/* ---- one that stays ---- */

bool keep_is_good(const struct launch_stay *stay)
{
	return memchr(stay->token, 0, sizeof(stay->token)) &&
	       memchr(stay->other, 0, sizeof(stay->other)) && stay->limit_ms <= ATTACH_STOPPED_MS;
}

static int keep_tell(int news, const struct keeping *k)
{
	const struct launch_news told = { .stage = LAUNCH_READY };

	return request_answer(news, &told, sizeof(told), k->fds, k->nfds);
}

int keep_ready(int news, const struct keeping *k)
{
	int flags = fcntl(news, F_GETFL);

	return flags < 0 || fcntl(news, F_SETFL, flags & ~O_ASYNC) || keep_tell(news, k) ? -1 : 0;
}

/* Gives an agent what the last one had. Returns the socket, or -1: there is none yet. */
static int keep_attach(const struct keeping *k)
{
	struct kept told = {
		.executor = k->executor,
		/* Without it another process is our parent. */
		.known = getppid() == keep_parent,
		.uid = k->uid,
		.number = k->number,
	};
	uint8_t frame[FRAME_HEADER + ATTACH_SIZE];
	ssize_t n;
	bool earlier;
	int fd = hop_connect(&earlier);

	if (fd < 0)
		return -1;
	memcpy(told.token, k->stay.token, sizeof(told.token));
	memcpy(told.other, k->stay.other, sizeof(told.other));
	n = kept_encode(&told, frame + FRAME_HEADER);
	frame_header(frame, FRAME_KEPT, n);
	n += FRAME_HEADER;
	if (send(fd, frame, n, MSG_NOSIGNAL | MSG_DONTWAIT) == n && !keep_tell(fd, k))
		return fd;
	close(fd);
	return -1;
}

/* What the agent says. False: it has gone. */
static bool keep_hear(int news, pid_t pid, int64_t *deadline, uint32_t *limit_ms)
{
	uint32_t word;
	ssize_t n = recv(news, &word, sizeof(word), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n != sizeof(word))
		return false;
	if (word == LAUNCH_OVER) {
		kill(pid, SIGKILL);
		_exit(0);
	}
	if (word & LAUNCH_LIMIT && (word & ~LAUNCH_LIMIT) <= ATTACH_STOPPED_MS)
		*limit_ms = word & ~LAUNCH_LIMIT;
	*deadline = INT64_MAX;
	return true;
}

static int keep_wait_ms(int64_t deadline, int64_t retry_at, int news)
{
	const int64_t now = calls_now();
	int64_t until = news < 0 && retry_at < deadline ? retry_at : deadline;

	if (until == INT64_MAX)
		return -1;
	return until > now ? (int)(until - now) : 0;
}

void keep_stay(pid_t pid, int news, const struct keeping *k)
{
	const int end = syscall(SYS_pidfd_open, pid, 0);
	int64_t deadline = INT64_MAX, retry_at = 0, pause_ms = 0;
	uint32_t limit_ms = k->stay.limit_ms;

	if (end < 0)
		_exit(1);
	for (;;) {
		struct pollfd p[] = { { end, POLLIN, 0 }, { news, POLLIN, 0 } };

		if (poll(p, 2, keep_wait_ms(deadline, retry_at, news)) < 0 && errno != EINTR)
			break;
		if (p[0].revents || calls_now() >= deadline)
			break;
		if (news >= 0 && p[1].revents && !keep_hear(news, pid, &deadline, &limit_ms)) {
			close(news);
			news = -1;
			retry_at = calls_now() + pause_ms;
			/* An agent that does not want it does not prolong its life. */
			if (deadline == INT64_MAX) {
				pause_ms = 0;
				deadline = calls_now() + limit_ms;
			}
		} else if (news < 0 && calls_now() >= retry_at) {
			news = keep_attach(k);
			pause_ms = backoff_next(pause_ms, KEEP_PAUSE_MS, KEEP_PAUSE_MAX_MS);
			retry_at = calls_now() + pause_ms;
		}
	}
	/* With this process the kernel kills the child, if it is still there. */
	_exit(0);
}
