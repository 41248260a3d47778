// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ehlaunch does for agents what needs root's rights, or another user's, and holds nothing for them:
 * tasks outlive it and their agent, views outlive it. An agent only asks: what the site permits is in the
 * arguments, and decided here. Descriptor 3 is a socket to the agent that has started it; or, from a
 * service manager, one that listens, and whoever may connect to it is served.
 *
 * "ehlaunch --end" is an executor's end at once, of the caller's user; for tests.
 */
#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup.h"
#include "eligible.h"
#include "end.h"
#include "files.h"
#include "folder.h"
#include "helpers/ehguest/main.h"
#include "helpers/end/calls.h"
#include "kernel.h"
#include "known.h"
#include "look.h"
#include "request.h"
#include "rights.h"
#include "session.h"
#include "site.h"
#include "view.h"
#include "wire/launch_digest.h"

static uint64_t main_digest; /* of our options */

static bool main_is_reload(const struct request *r)
{
	return r->length == sizeof(r->head) && r->nfds == LAUNCH_FD_NEWS + 1;
}

/* The agent's program reads the file, and becomes ehlaunch again. What we hold is closed by that. */
static int main_reload(const struct request *r)
{
	char *argv[] = { "ehagent", "--launch", "-c", (char *)rules.configuration, NULL };
	char *none[] = { NULL };

	if (!rules.agent || !rules.configuration)
		return -EOPNOTSUPP;
	execve(rules.agent, argv, none);
	return -errno;
}

/* What the agent may ask for. */
static const struct main_kind {
	bool (*is_good)(const struct request *r);
	/* Answers when it is done, or has failed. -errno: it has not even begun. */
	int (*serve)(const struct request *r);
} main_kinds[LAUNCH_KINDS] = {
	[LAUNCH_START] = { end_is_good, end_start },
	[LAUNCH_KERNEL] = { kernel_is_good, kernel_register },
	[LAUNCH_MOUNT] = { view_is_good, view_start },
	[LAUNCH_FILES] = { files_is_good, files_start },
	[LAUNCH_LOOK] = { look_is_good, look_start },
	[LAUNCH_SESSION] = { session_is_good, session_start },
	[LAUNCH_KILL] = { cgroup_kill_is_good, cgroup_kill },
	[LAUNCH_RELOAD] = { main_is_reload, main_reload },
	[LAUNCH_ELIGIBLE] = { eligible_is_good, eligible_answer },
};

static void main_answer(const struct request *r)
{
	int err;

	if (r->nfds <= LAUNCH_FD_NEWS)
		return;
	if (r->length >= sizeof(r->head) &&
	    (r->head.version < LAUNCH_OLDEST || r->head.version > LAUNCH_VERSION)) {
		request_tell(r->fds[LAUNCH_FD_NEWS], LAUNCH_REQUEST, EPROTONOSUPPORT);
		return;
	}
	if (r->length < sizeof(r->head) || r->head.kind >= LAUNCH_KINDS ||
	    !main_kinds[r->head.kind].is_good(r)) {
		request_tell(r->fds[LAUNCH_FD_NEWS], LAUNCH_REQUEST, EPROTO);
		return;
	}
	err = main_kinds[r->head.kind].serve(r);
	if (err)
		request_tell(r->fds[LAUNCH_FD_NEWS], LAUNCH_FORK, -err);
}

/*
 * Closes what came with a request. A file system may be asked before a file of it is closed, and not
 * answer: a process does that which has the same descriptors and nothing else to do.
 */
static void main_close(const int *fds, int n)
{
	struct clone_args args = { .flags = CLONE_FILES, .exit_signal = SIGCHLD };
	const struct linger none = { 0 };
	int others[DESCRIPTORS_MAX], left = 0;
	pid_t pid;

	for (int i = 0; i < n; i++) {
		const bool is_socket = request_fd_is(fds[i], "socket:[");

		if (is_socket)
			setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &none, sizeof(none));
		if (is_socket || request_fd_is(fds[i], "mnt:["))
			close(fds[i]);
		else
			others[left++] = fds[i];
	}
	if (!left)
		return;
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid > 0)
		return;
	while (left)
		close(others[--left]);
	if (!pid)
		_exit(0);
}

/* Takes one request. False: this agent has gone. */
static bool main_serve(int agent, struct request *r)
{
	union descriptors room;
	struct iovec iov = { &r->head, sizeof(*r) - offsetof(struct request, head) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	descriptors_expect(&msg, &room, DESCRIPTORS_MAX);
	n = recvmsg(agent, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n <= 0)
		return false;
	/* What does not fit is nothing that an agent sends. */
	r->length = msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? 0 : n;
	r->nfds = descriptors_take(&msg, &room, r->fds);
	main_answer(r);
	main_close(r->fds, r->nfds);
	return true;
}

#define MAIN_STAY_MS 1000 /* between two looks for another ehlaunch */
#define MAIN_REST_MS 100 /* without descriptors or memory for one more */

/* What is waited for: one agent, or who else may come; then agents that have come. */
enum { FIRST, KNOWN, CGROUP, FIXED, AGENTS = 8 }; /* of one host: one, or the last and the next */
static struct pollfd main_fds[FIXED + AGENTS];
static int main_nfds = FIXED;

static void main_forget_agents(void)
{
	close(main_fds[FIRST].fd);
	for (int i = FIXED; i < main_nfds; i++)
		close(main_fds[i].fd);
}

static void main_begin(int agent)
{
	const struct launch_begun told = {
		.news.stage = LAUNCH_READY,
		.oldest = LAUNCH_OLDEST,
		.newest = LAUNCH_VERSION,
		.rules = main_digest,
	};

	request_answer(agent, &told, sizeof(told), NULL, 0);
}

static bool main_listens(void)
{
	socklen_t size = sizeof(int);
	int listens = 0;

	return !getsockopt(LAUNCH_SOCKET, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) && listens;
}

/* false: the next one would not get further. */
static bool main_accept(void)
{
	static bool told;
	struct pollfd *next = &main_fds[main_nfds];

	*next = (struct pollfd){ .fd = accept4(LAUNCH_SOCKET, NULL, NULL, SOCK_CLOEXEC),
				 .events = POLLIN };
	if (next->fd < 0) {
		if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM)
			return true;
		if (!told)
			fprintf(stderr, "ehlaunch: cannot accept a connection: %s\n",
				strerror(errno));
		told = true;
		return false;
	}
	told = false;
	main_nfds++;
	main_begin(next->fd);
	return true;
}

/* How long to wait for an event. */
static int main_wait_ms(bool rests)
{
	int ms = folders_wait_ms();

	return rests && (ms < 0 || ms > MAIN_REST_MS) ? MAIN_REST_MS : ms;
}

/* Serves agents until the only one has gone; where others may come, forever. */
static void main_loop(struct request *r, int known, int cgroup)
{
	const bool listens = main_listens();
	bool rests = false; /* from those who come */

	main_fds[FIRST].fd = LAUNCH_SOCKET;
	main_fds[KNOWN] = (struct pollfd){ .fd = known, .events = POLLIN };
	main_fds[CGROUP] = (struct pollfd){ .fd = cgroup, .events = POLLIN };
	/* The directories of cgroups are there. The agent's terminal is not ours: guests are to outlive it. */
	if (!listens) {
		setsid();
		main_begin(LAUNCH_SOCKET);
	}
	for (;;) {
		/* Full: the next request waits. */
		main_fds[FIRST].events =
			rests || (listens && main_nfds == FIXED + AGENTS) ? 0 : POLLIN;
		if (poll(main_fds, main_nfds, main_wait_ms(rests)) < 0) {
			if (errno != EINTR)
				return;
			continue;
		}
		if (main_fds[KNOWN].revents)
			known_take();
		folders_take();
		for (int i = main_nfds - 1; i >= FIXED; i--)
			if (main_fds[i].revents && !main_serve(main_fds[i].fd, r)) {
				close(main_fds[i].fd);
				main_fds[i] = main_fds[--main_nfds];
			}
		rests = false;
		if (main_fds[FIRST].revents && listens)
			rests = !main_accept();
		else if (main_fds[FIRST].revents && !main_serve(LAUNCH_SOCKET, r))
			return;
	}
}

/*
 * Guests outlive their agent, and so what ends them: a process that is nobody's parent, as keepers tell by
 * theirs whether a launcher of theirs still serves. It goes on until the next ehlaunch is here.
 */
static void main_stay(int changes)
{
	struct pollfd p = { .fd = changes, .events = POLLIN };

	if (!cgroup_has_guests() || fork())
		return;
	prctl(PR_SET_NAME, "ehkeep-guests");
	/* Others may wait for the end of what was the agent's. */
	main_forget_agents();
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		close(fd);
	known_close();
	close(site.namespace);
	while (cgroup_has_guests()) {
		poll(&p, 1, MAIN_STAY_MS);
		folders_take();
	}
}

/* Two for each cgroup of a guest. First of all: with few, nothing else can be opened. */
static void main_raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argc, char **argv)
{
	char *users[argc + 1];
	int known, changes = -1, err;
	struct request *r;

	/* Ends have no others, and need not look. */
	for (int sig = 1; sig <= CALLS_SIGNALS; sig++)
		calls_set_action(sig, false);
	/* An end leads its session. */
	if (argc > 1 && !strcmp(argv[1], "--end"))
		return setsid() < 0 ? 1 : guest_main(NULL);
	if (rules_parse(&rules, users, argc, argv))
		return 2;
	main_digest = launch_digest(argv);
	main_raise_files();
	site_look();
	known = known_open();
	if (known < 0) {
		fprintf(stderr, "ehlaunch: no socket for its children: %s\n", strerror(errno));
		return 1;
	}
	/* Tasks of root would have less than root. */
	err = rules.allow_root ? 0 : rights_drop();
	if (err) {
		fprintf(stderr, "ehlaunch: rights cannot be dropped: %s\n", strerror(-err));
		return 1;
	}
	/* Ends are reaped by the kernel; they set this back for children of their own. */
	signal(SIGCHLD, SIG_IGN);
	r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r == MAP_FAILED) {
		fprintf(stderr, "ehlaunch: no room for a request: %s\n", strerror(errno));
		return 1;
	}
	r->forget_agents = main_forget_agents;
	if (rules.cgroup && cgroup_open(rules.cgroup, &changes)) {
		fprintf(stderr, "ehlaunch: %s cannot be watched: %s\n", rules.cgroup,
			strerror(errno));
		return 1;
	}
	main_loop(r, known, changes);
	main_stay(changes);
	return 0;
}
