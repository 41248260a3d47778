// SPDX-License-Identifier: GPL-2.0-or-later
/* Which descendants wait for input, as an ordinary user sees them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "helpers/ehguest/input.h"

enum what { READS, READS_PARTS, SPLICES, RECEIVES, PEEKS, POLLS, SELECTS, WATCHES, HIDES, ENDED };

static int input[2], pair[2], ready[2];

static void child_polls(void)
{
	struct pollfd p[70] = { [68] = { input[0], POLLPRI, 0 }, [69] = { input[0], POLLIN, 0 } };

	/* More of them than are looked at at once. */
	for (int i = 0; i < 68; i++)
		p[i].fd = -1;
	poll(p, 70, -1);
}

static void child_selects(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(input[0], &set);
	select(input[0] + 1, &set, NULL, NULL, NULL);
}

static void child_watches(void)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLET };
	int fd = epoll_create1(0);

	epoll_ctl(fd, EPOLL_CTL_ADD, input[0], &e);
	epoll_wait(fd, &e, 1, -1);
}

static void child_waits(enum what what)
{
	char a[7], b[4];
	struct iovec parts[] = { { a, sizeof(a) }, { b, sizeof(b) } };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };
	int to[2];

	switch (what) {
	case READS:
		(void)!read(input[0], a, sizeof(a));
		return;
	case READS_PARTS:
		(void)!readv(input[0], parts, 2);
		return;
	case SPLICES:
		if (!pipe(to))
			splice(input[0], NULL, to[1], NULL, 13, 0);
		return;
	case RECEIVES:
		recvmsg(pair[0], &m, 0);
		return;
	case PEEKS:
		recv(pair[0], a, sizeof(a), MSG_PEEK);
		return;
	case POLLS:
		child_polls();
		return;
	case SELECTS:
		child_selects();
		return;
	case WATCHES:
		child_watches();
		return;
	case HIDES:
		pause();
		return;
	default:
		return;
	}
}

static void child(enum what what)
{
	/* With the parent, whatever ends that. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (what == HIDES)
		prctl(PR_SET_DUMPABLE, 0);
	if (write(ready[1], "", 1) == 1)
		child_waits(what);
	_exit(0);
}

static bool same(struct input_wish a, struct input_wish b)
{
	return a.bytes == b.bytes && a.unsure == b.unsure;
}

/* What input_wanted() says of one child, which may still be on its way to what it waits in. */
static void wanted_of(enum what what, size_t bytes, bool unsure)
{
	const struct input_wish expected = { bytes, unsure }, nothing = { 0 };
	const struct timespec pause = { 0, 1000000 };
	const bool socket = what == RECEIVES || what == PEEKS;
	struct input_source source = { .socket = socket };
	struct input_wish wanted;
	struct stat st;
	siginfo_t info;
	char byte;
	pid_t pid;

	assert_int_equal(fstat(socket ? pair[0] : input[0], &st), 0);
	source.inode = st.st_ino;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		child(what);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	if (what == ENDED)
		assert_int_equal(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	wanted = input_wanted(&source);
	for (int i = 0; i < 60000 && !same(wanted, expected); i++) {
		/* On its way it wants nothing else. */
		assert_true(same(wanted, nothing));
		nanosleep(&pause, NULL);
		wanted = input_wanted(&source);
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(wanted.bytes, bytes);
	assert_int_equal(wanted.unsure, unsure);
}

/* As much as they ask for. */
static void test_reads(void **state)
{
	wanted_of(READS, 7, false);
	wanted_of(READS_PARTS, 11, false);
	wanted_of(SPLICES, 13, false);
	wanted_of(RECEIVES, 11, false);
}

/* What makes it readable, and perhaps more. */
static void test_polls(void **state)
{
	wanted_of(POLLS, 1, true);
	wanted_of(SELECTS, 1, true);
	wanted_of(WATCHES, 1, true);
	wanted_of(PEEKS, 1, true);
}

/* They may read; nobody can see that, so it is no wish. */
static void test_hides(void **state)
{
	wanted_of(HIDES, 0, true);
}

/* Nobody may look at it either, but it does not read: what it is given is lost. */
static void test_ended(void **state)
{
	wanted_of(ENDED, 0, false);
}

/* Nor do those that are about to end, at whatever moment they are looked at. */
static void test_ending(void **state)
{
	struct input_source source = { 0 };

	for (int i = 0; i < 1000; i++) {
		pid_t pid = fork();
		struct input_wish wanted;

		assert_true(pid >= 0);
		if (!pid)
			_exit(0);
		do {
			wanted = input_wanted(&source);
			assert_int_equal(wanted.bytes, 0);
			assert_false(wanted.unsure);
		} while (!waitpid(pid, NULL, WNOHANG));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads),  cmocka_unit_test(test_polls),
		cmocka_unit_test(test_hides),  cmocka_unit_test(test_ended),
		cmocka_unit_test(test_ending),
	};

	/* root may look at all. */
	if (!getuid() && (setgroups(0, NULL) || setgid(65534) || setuid(65534)))
		return 1;
	prctl(PR_SET_DUMPABLE, 1);
	if (pipe(input) || pipe(ready) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
