// SPDX-License-Identifier: GPL-2.0-or-later
/* The executor's end of a job while its stub is stopped: the program pauses, and goes on with it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "guest_home.h"

/* One that begins before the program does. */
static void test_paused_early(void **state)
{
	uint8_t on[4] = { 1 }, off[4] = { 0 };
	struct home *h = home_new();

	h->prepare_only = true;
	home_run(h, PIPES, "exec sleep 1000");
	home_until(h, home_has(h, "ready"));
	home_send_frame(h, FRAME_PAUSED, on, 4);
	home_say(h, (struct job_message){ .what = JOB_GO });
	home_until(h, home_has(h, "started") && home_process_state(h->program) == 'T');
	home_send_frame(h, FRAME_PAUSED, off, 4);
	home_until(h, home_process_state(h->program) == 'S');
	home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { SIGKILL, false } });
	assert_int_equal(home_end(h), 0);
	assert_string_equal(h->events, "ready started exit");
	home_free(h);
}

/* A pause of the stub is not a stop of the program. */
static void test_paused(void **state)
{
	uint8_t on[4] = { 1 }, off[4] = { 0 };
	struct home *h = home_new();

	home_run(h, PIPES, "exec sleep 1000");
	home_until(h, home_has(h, "started"));
	for (int i = 0; i < 300; i++) {
		home_send_frame(h, FRAME_PAUSED, on, 4);
		home_until(h, home_process_state(h->program) == 'T');
		home_send_frame(h, FRAME_PAUSED, off, 4);
		home_until(h, home_process_state(h->program) == 'S');
	}
	/* One that has stopped by itself stays so. */
	home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { SIGTSTP, false } });
	home_until(h, h->stops);
	home_send_frame(h, FRAME_PAUSED, on, 4);
	home_send_frame(h, FRAME_PAUSED, off, 4);
	home_for(h, 100);
	assert_int_equal(home_process_state(h->program), 'T');
	home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { SIGKILL, false } });
	assert_int_equal(home_end(h), 0);
	assert_string_equal(h->events, "ready started stopped:20 exit");
	home_free(h);
}

/* What it forks meanwhile goes on, too. With many small pages to copy it does little else. */
static void test_paused_forks(void **state)
{
	uint8_t on[4] = { 1 }, off[4] = { 0 };
	struct home *h = home_new();

	assert_int_equal(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
	home_run(h, PIPES, "printf -v x %50000000s; while :; do (:); echo; done");
	for (int i = 0; i < 20; i++) {
		size_t before = h->ngot[1];

		home_until(h, h->ngot[1] > before + i % 3);
		home_send_frame(h, FRAME_PAUSED, on, 4);
		before = h->ngot[1];
		/* Either tells ehguest that its stub goes on. */
		if (i % 2)
			home_say(h, (struct job_message){ .what = JOB_SIGNAL,
							  .sent = { SIGCONT, JOB_TO_GROUP } });
		home_send_frame(h, FRAME_PAUSED, off, 4);
		home_until(h, h->ngot[1] > before + 1);
	}
	home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { SIGKILL, JOB_TO_GROUP } });
	assert_int_equal(home_end(h), 0);
	assert_int_equal(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), 0);
	home_free(h);
}

/* The program ends while its group is paused: its children go on with the stub. */
static void test_paused_children(void **state)
{
	static const char script[] = "(while :; do sleep 0.01; echo x; done) & exec sleep 1000";
	uint8_t on[4] = { 1 }, off[4] = { 0 };

	/* Also when the pause comes after it has ended, and before that is known. */
	for (int ended_first = 0; ended_first < 2; ended_first++) {
		struct home *h = home_new();
		size_t before;

		home_run(h, PIPES, script);
		home_until(h, home_has(h, "started") && *home_got(h, 1));
		if (ended_first) {
			assert_int_equal(kill(h->guest, SIGSTOP), 0);
			assert_int_equal(kill((pid_t)h->program, SIGKILL), 0);
		}
		home_send_frame(h, FRAME_PAUSED, on, 4);
		if (ended_first)
			assert_int_equal(kill(h->guest, SIGCONT), 0);
		else
			home_until(h, home_process_state(h->program) == 'T');
		kill((pid_t)h->program, SIGKILL);
		home_until(h, home_has(h, "exit"));
		before = strlen(home_got(h, 1));
		home_send_frame(h, FRAME_PAUSED, off, 4);
		home_until(h, strlen(home_got(h, 1)) > before + 20);
		home_say(h, (struct job_message){ .what = JOB_SIGNAL,
						  .sent = { SIGKILL, JOB_TO_GROUP } });
		assert_int_equal(home_end(h), 0);
		home_free(h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paused),
		cmocka_unit_test(test_paused_early),
		cmocka_unit_test(test_paused_forks),
		cmocka_unit_test(test_paused_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
