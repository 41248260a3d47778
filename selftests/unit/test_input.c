// SPDX-License-Identifier: GPL-2.0-or-later
/* Which descendants wait for input, as an ordinary user sees them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "helpers/ehguest/input.h"

enum what { READS, HIDES, ENDED };

static int input[2], ready[2];

static void child(enum what what)
{
	char byte[7];

	/* With the parent, whatever ends that. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (what == HIDES)
		prctl(PR_SET_DUMPABLE, 0);
	if (write(ready[1], "", 1) == 1 && what == READS && read(input[0], byte, sizeof(byte)) < 0)
		_exit(1);
	if (what == HIDES)
		pause();
	_exit(0);
}

/* What input_wanted() says of one child, which may still be on its way to what it waits in. */
static size_t wanted_of(enum what what, size_t expected)
{
	const struct timespec pause = { 0, 1000000 };
	struct input_source source = { .unknown = INPUT_UNKNOWN };
	size_t wanted = 0;
	struct stat st;
	siginfo_t info;
	char byte;
	pid_t pid;

	assert_int_equal(fstat(input[0], &st), 0);
	source.inode = st.st_ino;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		child(what);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	if (what == ENDED)
		assert_int_equal(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	wanted = input_wanted(&source);
	for (int i = 0; expected && i < 60000 && wanted != expected; i++) {
		nanosleep(&pause, NULL);
		wanted = input_wanted(&source);
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return wanted;
}

static void test_reads(void **state)
{
	assert_int_equal(wanted_of(READS, 7), 7);
}

/* It may read; nobody can see that. */
static void test_hides(void **state)
{
	assert_int_equal(wanted_of(HIDES, INPUT_UNKNOWN), INPUT_UNKNOWN);
}

/* Nobody may look at it either, but it does not read: what it is given is lost. */
static void test_ended(void **state)
{
	assert_int_equal(wanted_of(ENDED, 0), 0);
}

/* Nor do those that are about to end, at whatever moment they are looked at. */
static void test_ending(void **state)
{
	struct input_source source = { .unknown = INPUT_UNKNOWN };

	for (int i = 0; i < 1000; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid)
			_exit(0);
		do
			assert_int_equal(input_wanted(&source), 0);
		while (!waitpid(pid, NULL, WNOHANG));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_hides),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_ending),
	};

	/* root may look at all. */
	if (!getuid() && (setgroups(0, NULL) || setgid(65534) || setuid(65534)))
		return 1;
	prctl(PR_SET_DUMPABLE, 1);
	if (pipe(input) || pipe(ready))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
