// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ehhist: keeps the history of an agent.
 *
 * A process of its own, because a commit waits for the disk, and the agent must wait for nothing; and
 * because the agent would have to write where it may not. The agent starts it before it gives up to
 * start programs (agent/confine.c), and can never do so again. So this program has two processes:
 * one that writes, and may be killed, and its parent, which starts another one then. What is on the
 * way from the agent is in the socket meanwhile.
 *
 * Descriptor 3 is a SOCK_SEQPACKET socket, whose messages are objects of JSON: a row
 * (helpers/ehhist/store.h), {"event":{…},"at":…}, {"limits":{…}}, or {"ask":{…}} with the descriptor that the answer is to
 * be written to. It ends when the agent has closed the other side.
 */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "query.h"
#include "say.h"
#include "store.h"
#include "wire/descriptors.h"

#define HIST_SOCKET 3
#define HIST_MESSAGE 65536
#define HIST_BATCH 500 /* rows of a transaction */
#define HIST_WAIT_MS 200 /* for more of them */
#define HIST_ANSWER_S 5 /* the agent reads at once, or has ended */
#define HIST_AGAIN_S 1

/* ---- what it gives up ---- */

/* Parsers of JSON and SQL, fed by what users named. Both come from a peer that is trusted with as much. */
static int hist_confine(void)
{
	/* clang-format off */
	static const int calls[] = {
		SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork),
		SCMP_SYS(clone), SCMP_SYS(clone3), SCMP_SYS(socket), SCMP_SYS(socketpair),
		SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
		SCMP_SYS(process_vm_writev), SCMP_SYS(pidfd_getfd), SCMP_SYS(mount), SCMP_SYS(unshare),
		SCMP_SYS(setns), SCMP_SYS(bpf), SCMP_SYS(io_uring_setup), SCMP_SYS(userfaultfd),
		SCMP_SYS(keyctl), SCMP_SYS(perf_event_open),
	};
	/* clang-format on */
	scmp_filter_ctx filter;
	int err = 0;

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	filter = seccomp_init(SCMP_ACT_ALLOW);
	if (!filter)
		return -ENOMEM;
	for (size_t i = 0; !err && i < sizeof(calls) / sizeof(*calls); i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 0);
	err = err ?: seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

/* ---- its work ---- */

static void hist_limits(struct store *s, const json_t *limits)
{
	s->rows = json_integer_value(json_object_get(limits, "rows"));
	s->bytes = json_integer_value(json_object_get(limits, "bytes"));
	s->age_s = json_integer_value(json_object_get(limits, "age"));
	/* Some of them are of the open file. */
	store_commit(s);
	store_close(s);
}

static void hist_answer(struct store *s, const json_t *ask, int to)
{
	const struct timeval limit = { HIST_ANSWER_S, 0 };
	json_t *answer;

	/* A question that comes after the end of a task is to find it. */
	store_commit(s);
	answer = query_answer(s, ask);
	setsockopt(to, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!answer || json_dumpfd(answer, to, JSON_COMPACT))
		say(SAY_WARNING, "history: a question was not answered: %s",
		    answer ? strerror(errno) : "out of memory");
	json_decref(answer);
}

static void hist_take(struct store *s, const char *text, size_t length, int fd)
{
	json_t *message = json_loadb(text, length, 0, NULL);
	const json_t *ask = json_object_get(message, "ask");
	const json_t *limits = json_object_get(message, "limits");

	if (ask && fd >= 0)
		hist_answer(s, ask, fd);
	else if (limits)
		hist_limits(s, limits);
	else if (json_object_get(message, "event"))
		store_put_event(s, message);
	else if (json_object_get(message, "id"))
		store_put(s, message);
	else
		say(SAY_WARNING, "history: a message of the agent was not understood");
	json_decref(message);
}

/* Bytes, 0 at the end, or -errno. */
static ssize_t hist_receive(char *text, int *fd)
{
	struct iovec iov = { text, HIST_MESSAGE };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fds[DESCRIPTORS_MAX];
	union descriptors room;
	ssize_t n;

	descriptors_expect(&msg, &room, 1);
	n = recvmsg(HIST_SOCKET, &msg, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -errno;
	*fd = descriptors_take(&msg, &room, fds) ? fds[0] : -1;
	return n;
}

static int hist_work(struct store *s)
{
	static char text[HIST_MESSAGE];
	struct pollfd p = { .fd = HIST_SOCKET, .events = POLLIN };
	unsigned int batch = 0;
	ssize_t n;
	int fd;

	for (;;) {
		/* A disk that sleeps wakes up for many rows, not for each. */
		n = poll(&p, 1, batch ? HIST_WAIT_MS : -1);
		if (!n || batch == HIST_BATCH) {
			store_commit(s);
			batch = 0;
		}
		if (n <= 0)
			continue;
		n = hist_receive(text, &fd);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			break;
		hist_take(s, text, n, fd);
		if (fd >= 0)
			close(fd);
		batch++;
	}
	store_commit(s);
	store_close(s);
	return n ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int hist_child(struct store *s, bool first)
{
	const struct rlimit none = { 0, 0 };
	int err;

	setrlimit(RLIMIT_CORE, &none);
	/* Without its parent there is nobody to start it again, and another one follows the agent. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	err = hist_confine();
	if (err) {
		say(SAY_ERROR,
		    "history: cannot drop the rights that this process does not need: %s",
		    strerror(-err));
		return EXIT_FAILURE;
	}
	if (first && !store_open(s))
		store_adopt(s);
	return hist_work(s);
}

/* ---- its start ---- */

static int hist_arguments(int argc, char **argv, struct store *s)
{
	static const struct option options[] = {
		{ "file", required_argument, NULL, 'f' },
		{ "rows", required_argument, NULL, 'r' },
		{ "bytes", required_argument, NULL, 'b' },
		{ "age", required_argument, NULL, 'a' },
		{ 0 },
	};
	int c;

	opterr = 0; /* it would print the word as it is */
	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (c) {
		case 'f':
			s->file = optarg;
			break;
		case 'r':
			s->rows = strtoll(optarg, NULL, 10);
			break;
		case 'b':
			s->bytes = strtoll(optarg, NULL, 10);
			break;
		case 'a':
			s->age_s = strtoll(optarg, NULL, 10);
			break;
		default:
			return -1;
		}
	}
	return s->file && s->rows > 0 && s->bytes > 0 && s->age_s > 0 && optind == argc ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct store store = { 0 };
	bool first = true;
	int status;
	pid_t pid;

	if (hist_arguments(argc, argv, &store)) {
		fprintf(stderr, "ehhist is started by ehagent\n");
		return 2;
	}
	/* It ends with the agent, after what that has sent last. */
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	umask(077);
	for (;; first = false) {
		pid = fork();
		if (!pid)
			return hist_child(&store, first);
		if (pid < 0) {
			say(SAY_ERROR, "history: cannot start a process: %s", strerror(errno));
			return EXIT_FAILURE;
		}
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (WIFEXITED(status))
			return WEXITSTATUS(status);
		say(SAY_WARNING,
		    "history: the process that writes was killed by signal %d: "
		    "starting another one",
		    WTERMSIG(status));
		sleep(HIST_AGAIN_S);
	}
}
