// SPDX-License-Identifier: GPL-2.0-or-later
/* build/bin/ehstub as home's end of a job: whom a signal was for, the task or its process group. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "stub_home.h"

/* Nobody is left in it. */
static void no_group(struct stub_home *h)
{
	assert_int_equal(kill(-h->stub, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void sent_to(struct stub_home *h, pid_t whom, int sig, enum job_reach reach)
{
	unsigned int before = h->signals[sig];

	assert_return_code(kill(whom, sig), errno);
	UNTIL(h, h->signals[sig] > before);
	assert_int_equal(h->sent.sent.reach, reach);
	assert_false(h->sent.sent.queued);
}

/* Who was meant: the task, or its group. */
static void test_group(void **state)
{
	static const int all[] = { SIGTERM, SIGUSR1, SIGTERM, SIGHUP, 34, 64, 34, SIGTSTP };
	struct stub_home *h = stub_open();

	stub_null(h, 3);
	stub_run(h, NULL, "7");
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		sent_to(h, h->stub, all[i], JOB_TO_TASK);
		sent_to(h, -h->stub, all[i], JOB_TO_GROUP);
		sent_to(h, -h->stub, all[i], JOB_TO_GROUP);
		sent_to(h, h->stub, all[i], JOB_TO_TASK);
	}
	sent_to(h, h->stub, SIGCONT, JOB_TO_GROUP);
	/* Several that are pending at once, of a kind that is not queued: one. */
	kill(h->stub, SIGSTOP);
	UNTIL(h, h->stopped);
	kill(-h->stub, SIGUSR2);
	kill(-h->stub, SIGUSR2);
	kill(-h->stub, SIGCONT);
	UNTIL(h, h->signals[SIGUSR2] == 1 && h->signals[SIGCONT] == 2);
	sent_to(h, h->stub, SIGUSR2, JOB_TO_TASK);
	stub_exit(h, 0, false);
	UNTIL(h, h->ended);
	no_group(h);
	stub_close(h);
}

/* Only the stub of the stopped group goes on. */
static void test_group_stopped(void **state)
{
	struct stub_home *h = stub_open();

	stub_null(h, 3);
	stub_run(h, NULL, "7");
	kill(-h->stub, SIGSTOP);
	UNTIL(h, h->stopped);
	kill(h->stub, SIGCONT);
	UNTIL(h, h->signals[SIGCONT] == 1);
	assert_return_code(kill(h->stub, SIGTERM), errno);
	UNTIL(h, h->signals[SIGTERM] == 1);
	sent_to(h, -h->stub, SIGUSR1, JOB_TO_GROUP);
	stub_exit(h, SIGTERM, false);
	UNTIL(h, h->ended);
	no_group(h);
	stub_close(h);
}

/* Values come in order, and each comes. */
static void test_queued(void **state)
{
	struct stub_home *h = stub_open();

	stub_null(h, 3);
	stub_run(h, NULL, "7");
	for (int i = 1; i <= 3; i++) {
		unsigned int before = h->signals[40];

		assert_return_code(sigqueue(h->stub, 40, (union sigval){ .sival_int = 4710 + i }),
				   errno);
		UNTIL(h, h->signals[40] == before + 1);
		assert_int_equal(h->sent.sent.reach, JOB_TO_TASK);
		assert_true(h->sent.sent.queued);
		assert_int_equal((int)h->sent.sent.value, 4710 + i);
		assert_int_equal(h->sent.sent.pid, getpid());
		assert_int_equal(h->sent.sent.uid, getuid());
	}
	stub_over(h, 0);
}

/* The task has ended, its children write on: they are told what the group is, and only that. */
static void test_group_of_children(void **state)
{
	const struct job_message over = { .what = JOB_OVER };
	struct stub_home *h = stub_open();
	int out[2];

	stub_null(h, 3);
	stub_pipe(out);
	h->fds[1] = out[1];
	stub_run(h, NULL, "7");
	stub_exit(h, 4 << 8, true);
	UNTIL(h, h->ended);
	assert_int_equal(h->status, 4 << 8);
	for (int i = 0; i < 3; i++) {
		const int sig = i ? SIGTERM : SIGUSR1;

		assert_return_code(kill(-h->stub, sig), errno);
		UNTIL(h, h->signals[sig] == (i > 1 ? 2u : 1u));
		assert_int_equal(h->sent.sent.reach, JOB_TO_GROUP);
	}
	stub_say(h, &over);
	UNTIL(h, h->agent < 0);
	UNTIL(h, kill(-h->stub, 0));
	close(out[0]);
	stub_close(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_group_stopped),
		cmocka_unit_test(test_queued),
		cmocka_unit_test(test_group_of_children),
	};

	stub_program();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
