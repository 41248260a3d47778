// SPDX-License-Identifier: GPL-2.0-or-later
/* One end of a job: what a break of the connection does, and the hellos of the next one. */
#include <errno.h>

#include "job_ends.h"

/* Home has not said GO: it is lost at once, and so it is without any connection before. */
static void test_break_before_go(void **state)
{
	for (int at = JOB_PREPARING; at <= JOB_PREPARED; at++) {
		ends_run_to(at);
		ends_detach(5);
		assert_int_equal(home.lost, 1);
		assert_int_equal(home.before, at);
		assert_int_equal(ends_say(&home, JOB_GO), -EPIPE);
		assert_int_equal(executor.lost, 0);
		assert_int_equal(executor.e.deadline, 5 + LIMIT);
		job_end_tick(&executor.e, 4 + LIMIT);
		assert_int_equal(executor.lost, 0);
		job_end_tick(&executor.e, 5 + LIMIT);
		assert_int_equal(executor.lost, 1);
		assert_int_equal(executor.e.deadline, INT64_MAX);
	}
	ends_begin();
	job_end_detach(&home.e, 5);
	assert_int_equal(home.lost, 1);
}

/* After GO both wait, for the limit, however often they hear of it. */
static void test_break_after_go(void **state)
{
	for (int at = JOB_COMMITTED; at <= JOB_ENDED; at++) {
		ends_run_to(at);
		ends_detach(100);
		ends_detach(200);
		assert_int_equal(home.e.deadline, 100 + LIMIT);
		assert_int_equal(executor.e.deadline, 100 + LIMIT);
		ends_attach();
		ends_pump();
		assert_int_equal(home.lost + executor.lost, 0);
		if (at >= JOB_RUNNING)
			assert_int_equal(home.e.deadline, INT64_MAX);
		ends_detach(300);
		job_end_tick(&home.e, 300 + LIMIT);
		assert_int_equal(home.lost, 1);
		assert_int_equal(home.before, at);
		assert_true(job_end_done(&home.e));
	}
}

/* GO is on its way when the link breaks. */
static void test_break_go(void **state)
{
	uint8_t frame[FRAME];

	ends_run_to(JOB_PREPARED);
	assert_int_equal(ends_say(&home, JOB_GO), 0);
	assert_true(job_end_next(&home.e, frame, sizeof(frame)));
	ends_detach(1);
	assert_int_equal(home.lost, 0);
	ends_attach();
	ends_pump();
	assert_int_equal(executor.e.state, JOB_COMMITTED);
	assert_int_equal(executor.nseen, 1);
	/* and the frame of the first connection comes, too */
	assert_int_equal(job_end_take(&executor.e, frame + FRAME_HEADER, LINK_HEADER), 0);
	assert_int_equal(executor.nseen, 1);
}

/* The start has its time again after a break: the limit counts without a connection only. */
static void test_start_after_break(void **state)
{
	struct side *both[] = { &home, &executor };

	ends_begin();
	assert_int_equal(home.e.deadline, START);
	for (int i = 0; i < 2; i++) {
		struct job_end *e = &both[i]->e;
		int64_t now = 100 + LIMIT - 1;

		ends_run_to(JOB_COMMITTED);
		assert_int_equal(e->deadline, START);
		ends_detach(100);
		ends_attach();
		assert_true(e->deadline <= now);
		job_end_tick(e, now);
		assert_int_equal(e->deadline, now + START);
		job_end_tick(e, now + START - 1);
		assert_int_equal(e->state, JOB_COMMITTED);
		job_end_tick(e, now + START);
		assert_int_equal(e->state, JOB_LOST);
		assert_int_equal(both[i]->before, JOB_COMMITTED);
	}
}

/* The program starts while there is no connection: the limit stays. */
static void test_start_detached(void **state)
{
	ends_run_to(JOB_COMMITTED);
	ends_detach(100);
	assert_int_equal(ends_say(&executor, JOB_STARTED), 0);
	assert_int_equal(executor.e.deadline, 100 + LIMIT);
	ends_attach();
	ends_pump();
	assert_int_equal(executor.e.deadline, INT64_MAX);
	assert_int_equal(home.e.deadline, INT64_MAX);
}

static void test_gone(void **state)
{
	for (int at = JOB_PREPARING; at < JOB_FINISHED; at++) {
		ends_run_to(at);
		job_end_gone(&home.e);
		job_end_gone(&home.e);
		assert_int_equal(home.lost, 1);
		assert_int_equal(home.before, at);
		job_end_attach(&home.e);
		assert_false(ends_move(&home, &executor));
	}
}

/* On the first connection what is ready to be said follows the hello, and comes once; later it waits. */
static void test_first_hello(void **state)
{
	uint8_t frame[FRAME];

	ends_begin();
	assert_int_equal(ends_say(&executor, JOB_READY), 0);
	ends_attach();
	/* Home has said nothing yet. */
	assert_true(ends_move(&executor, &home));
	assert_true(ends_move(&executor, &home));
	assert_int_equal(ends_last(&home)->what, JOB_READY);
	assert_false(ends_move(&executor, &home));
	ends_pump();
	assert_int_equal(home.nseen, 1);
	assert_int_equal(ends_say(&home, JOB_GO), 0);
	ends_pump();
	assert_int_equal(ends_last(&executor)->what, JOB_GO);
	ends_detach(1);
	assert_int_equal(ends_say(&executor, JOB_STARTED), 0);
	ends_attach();
	assert_int_equal(job_end_next(&executor.e, frame, sizeof(frame)),
			 FRAME_HEADER + LINK_HEADER);
	assert_int_equal(job_end_next(&executor.e, frame, sizeof(frame)), 0);
}

/* The executor's end says hello with the first that it has to say; later at once, as home may have missed that. */
static void test_quiet_hello(void **state)
{
	uint8_t frame[FRAME];

	ends_begin();
	ends_attach();
	ends_pump();
	assert_int_equal(job_end_next(&executor.e, frame, sizeof(frame)), 0);
	ends_tell(&executor, JOB_READY);
	assert_int_equal(home.e.state, JOB_PREPARED);

	ends_begin();
	job_end_attach(&executor.e);
	assert_int_equal(job_end_next(&executor.e, frame, sizeof(frame)), 0);
	job_end_detach(&executor.e, 0);
	ends_attach();
	assert_true(job_end_next(&executor.e, frame, sizeof(frame)));
}

/* A hello of an earlier connection is taken, and does no harm before or after the right one. */
static void test_stale_hello(void **state)
{
	uint8_t old[FRAME], older[FRAME];

	for (int after = 0; after < 2; after++) {
		ends_run_to(JOB_RUNNING);
		ends_detach(1);
		ends_attach();
		assert_int_equal(job_end_next(&home.e, older, sizeof(older)),
				 FRAME_HEADER + LINK_HEADER);
		ends_pump();
		for (int i = 0; i < 9; i++)
			assert_int_equal(ends_say(&executor, JOB_CONTINUED), 0);
		ends_detach(2);
		ends_attach();
		assert_true(job_end_next(&home.e, old, sizeof(old)));
		ends_detach(3);
		ends_attach();
		if (after)
			ends_pump();
		assert_int_equal(job_end_take(&executor.e, older + FRAME_HEADER, LINK_HEADER), 0);
		assert_int_equal(job_end_take(&executor.e, old + FRAME_HEADER, LINK_HEADER), 0);
		ends_pump();
		assert_int_equal(home.nseen, 2 + 9);
		assert_int_equal(ends_say_exit(false), 0);
		ends_pump();
		assert_int_equal(home.nseen, 2 + 10);
		assert_true(job_end_done(&executor.e));
	}
}

/* An old hello asks for frames that a later acknowledgement says are there: they have no memory. */
static void test_acknowledged_after_hello(void **state)
{
	uint8_t hello[FRAME], ack[FRAME];

	ends_run_to(JOB_RUNNING);
	ends_detach(1);
	ends_attach();
	assert_true(job_end_next(&home.e, hello, sizeof(hello)));
	assert_int_equal(job_end_take(&executor.e, hello + FRAME_HEADER, LINK_HEADER), 0);
	ends_pump();
	for (int i = 0; i < LINK_ACK_EVERY; i++)
		assert_int_equal(ends_say(&executor, JOB_CONTINUED), 0);
	while (ends_move(&executor, &home))
		;
	assert_int_equal(job_end_next(&home.e, ack, sizeof(ack)), FRAME_HEADER + LINK_HEADER);
	assert_int_equal(job_end_take(&executor.e, hello + FRAME_HEADER, LINK_HEADER), 0);
	assert_int_equal(job_end_take(&executor.e, ack + FRAME_HEADER, LINK_HEADER), 0);
	assert_true(job_link_settled(&executor.e.link));
	assert_false(ends_move(&executor, &home));
}

/* The last acknowledgement is lost on its way: home is done, the executor's end tries again. */
static void test_last_acknowledgement(void **state)
{
	uint8_t frame[FRAME];

	ends_run_to(JOB_RUNNING);
	assert_int_equal(ends_say_exit(false), 0);
	assert_true(ends_move(&executor, &home));
	assert_true(job_end_next(&home.e, frame, sizeof(frame)));
	assert_true(job_end_done(&home.e));
	ends_detach(1);
	assert_true(job_end_done(&home.e));
	ends_attach();
	assert_false(job_end_done(&home.e)); /* there is somebody to be told */
	ends_pump();
	assert_true(job_end_done(&home.e));
	assert_true(job_end_done(&executor.e));
	/* nobody is there any more */
	ends_run_to(JOB_RUNNING);
	assert_int_equal(ends_say_exit(false), 0);
	ends_detach(1);
	job_end_tick(&executor.e, 1 + LIMIT);
	assert_true(job_end_done(&executor.e));
	assert_int_equal(executor.lost, 0);
}

/* Home has the exit: it does not wait until what it said itself has come. */
static void test_done_at_once(void **state)
{
	ends_run_to(JOB_RUNNING);
	ends_tell(&home, JOB_CLOSED);
	assert_int_equal(ends_say(&home, JOB_CLOSED), 0);
	assert_int_equal(ends_say_exit(false), 0);
	while (ends_move(&executor, &home))
		;
	while (!job_end_done(&home.e))
		assert_true(ends_move(&home, &executor));
	assert_true(job_end_done(&home.e));
	ends_run_to(JOB_RUNNING);
	assert_int_equal(ends_say(&home, JOB_CLOSED), 0);
	assert_int_equal(ends_say_exit(false), 0);
	assert_true(ends_move(&executor, &home));
	ends_detach(1);
	assert_true(job_end_done(&home.e));
}

/* Four frames are acknowledged although the other end has nothing to say. */
static void test_acknowledged(void **state)
{
	struct side *both[] = { &home, &executor };

	for (int i = 0; i < 2; i++) {
		struct side *from = both[i], *to = both[!i];

		ends_run_to(JOB_RUNNING);
		for (int n = 0; n < 1000; n++) {
			while (ends_say(from, JOB_CLOSED) != -EAGAIN)
				;
			ends_pump();
			assert_true(from->e.link.head_number - from->e.link.tail_number <
				    LINK_ACK_EVERY);
			assert_int_equal(to->lost, 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_break_before_go),
		cmocka_unit_test(test_break_after_go),
		cmocka_unit_test(test_break_go),
		cmocka_unit_test(test_start_after_break),
		cmocka_unit_test(test_start_detached),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_first_hello),
		cmocka_unit_test(test_quiet_hello),
		cmocka_unit_test(test_stale_hello),
		cmocka_unit_test(test_acknowledged_after_hello),
		cmocka_unit_test(test_last_acknowledgement),
		cmocka_unit_test(test_done_at_once),
		cmocka_unit_test(test_acknowledged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
