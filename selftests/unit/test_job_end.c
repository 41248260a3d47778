// SPDX-License-Identifier: GPL-2.0-or-later
/* One end of a job: who may say and take what in which state. */
#include <errno.h>
#include <string.h>

#include "job_ends.h"

/* ---- states ---- */

static void test_story(void **state)
{
	static const enum job_what at_home[] = { JOB_READY, JOB_STARTED, JOB_DATA, JOB_EXIT };
	const uint8_t text[] = "out";

	ends_begin();
	assert_int_equal(home.e.state, JOB_PREPARING);
	/* nothing is said without a connection, but kept */
	assert_int_equal(ends_say(&executor, JOB_READY), 0);
	assert_false(ends_move(&executor, &home));
	ends_attach();
	ends_pump();
	assert_int_equal(home.e.state, JOB_PREPARED);
	ends_tell(&home, JOB_GO);
	assert_int_equal(executor.e.state, JOB_COMMITTED);
	ends_tell(&executor, JOB_STARTED);
	assert_int_equal(home.e.state, JOB_RUNNING);
	assert_int_equal(home.e.deadline, INT64_MAX);
	assert_int_equal(executor.e.deadline, INT64_MAX);
	assert_int_equal(job_end_room(&executor.e, 1), JOB_DATA_MAX);
	assert_int_equal(job_end_room(&executor.e, 0), 0);
	assert_int_equal(job_end_room(&home.e, 0), 0);
	job_end_send(&executor.e, 1, text, 3, false);
	assert_int_equal(ends_say_exit(false), 0);
	assert_int_equal(executor.e.state, JOB_FINISHED);
	assert_false(job_end_done(&executor.e));
	while (ends_move(&executor, &home))
		;
	assert_int_equal(home.e.state, JOB_FINISHED);
	assert_false(job_end_done(&home.e));
	assert_true(ends_move(&home, &executor));
	assert_true(job_end_done(&home.e));
	assert_true(job_end_done(&executor.e));
	assert_int_equal(home.nseen, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(home.seen[i].what, at_home[i]);
	assert_int_equal(home.seen[3].exit.use.status, 0x2a00);
	assert_int_equal(executor.nseen, 1);
	assert_int_equal(home.lost + executor.lost, 0);
	/* what comes after that says nothing */
	job_end_gone(&home.e);
	job_end_gone(&executor.e);
	assert_int_equal(home.lost + executor.lost, 0);
	assert_true(job_end_done(&home.e));
}

/* Children go on: EXIT with more, their output and input, then OVER. */
static void test_more(void **state)
{
	const uint8_t text[] = "late";

	ends_run_to(JOB_RUNNING);
	assert_int_equal(ends_say_exit(true), 0);
	ends_pump();
	assert_int_equal(home.e.state, JOB_ENDED);
	assert_false(job_end_done(&home.e));
	assert_false(job_end_done(&executor.e));
	job_end_send(&executor.e, 2, text, 4, false);
	ends_want(2);
	assert_int_equal(job_end_room(&home.e, 0), 2);
	job_end_send(&home.e, 0, text, 2, false);
	ends_pump();
	assert_int_equal(ends_last(&executor)->what, JOB_DATA);
	ends_tell(&executor, JOB_OVER);
	assert_int_equal(ends_last(&home)->what, JOB_OVER);
	assert_int_equal(home.e.state, JOB_FINISHED);
	assert_true(job_end_done(&home.e));
	assert_true(job_end_done(&executor.e));
}

/* States in their order: p P C R E F L, in which a message may be said and taken. */
static const struct {
	enum job_what what;
	const char *home_says, *executor_says, *home_takes, *executor_takes;
} table[] = {
	{ JOB_READY, "", "p", "p", "" },
	{ JOB_STARTED, "", "C", "C", "" },
	{ JOB_REFUSED, "", "pPC", "pPC", "" },
	{ JOB_STOPPED, "", "R", "R", "" },
	{ JOB_CONTINUED, "", "R", "R", "" },
	{ JOB_EXIT, "", "R", "R", "" },
	{ JOB_OVER, "", "E", "E", "" },
	/* it may cross with REFUSED */
	{ JOB_GO, "P", "", "", "PF" },
	{ JOB_SIGNAL, "RE", "", "", "REF" },
	{ JOB_FOREGROUND, "RE", "", "", "REF" },
	/* these have functions of their own, and NONE needs a WANT */
	{ JOB_DATA, "", "", "RE", "" },
	{ JOB_WANT, "", "", "RE", "REF" },
	{ JOB_READ, "", "", "RE", "" },
	{ JOB_NONE, "", "", "", "" },
	{ JOB_END, "RE", "RE", "RE", "REF" },
	{ JOB_CLOSED, "RE", "RE", "RE", "REF" },
	{ JOB_OFFER, "RE", "", "", "REF" },
	{ JOB_TERMINAL, "RE", "RE", "RE", "REF" },
	{ JOB_OPENED, "", "p", "p", "" },
	{ JOB_SEEK, "", "RE", "RE", "" },
	{ JOB_LOCK, "", "RE", "RE", "" },
};
#define TABLE (sizeof(table) / sizeof(table[0]))

static void check_say(struct side *s, struct job_message *m, const char *states, int at)
{
	int want_err = at == JOB_LOST ? -EPIPE : strchr(states, "pPCREFL"[at]) ? 0 : -EPROTO;

	ends_run_to(at);
	if (job_end_say(&s->e, m) != want_err)
		fail_msg("message %u is said in state %d", m->what, at);
	if (want_err)
		assert_int_equal(s->e.state, at);
}

static void check_take(struct side *s, struct job_message *m, const char *states, int at)
{
	bool taken = strchr(states, "pPCREFL"[at]);
	unsigned int before;
	int got;

	ends_run_to(at);
	before = s->nseen;
	got = ends_deliver_message(s, m);
	if (at == JOB_LOST) {
		assert_int_equal(got, 0);
		assert_int_equal(s->nseen, before);
		return;
	}
	if (got != (taken ? 0 : -EPROTO))
		fail_msg("message %u is taken in state %d: %d", m->what, at, got);
	assert_int_equal(s->e.state == JOB_LOST, !taken);
	if (!taken) {
		assert_int_equal(s->nseen, before);
		assert_int_equal(s->lost, at != JOB_FINISHED);
		assert_int_equal(s->before, at == JOB_FINISHED ? 0 : at);
		assert_int_equal(ends_say(s, JOB_END), -EPIPE);
	}
}

static void test_states(void **state)
{
	assert_int_equal(TABLE, JOB_WHATS - 1);
	ends_channels = JOB_CHANNEL_FILES + 1;
	for (size_t i = 0; i < TABLE; i++) {
		struct job_message m = { .what = table[i].what, .channel = 1 };

		if (m.what == JOB_STOPPED)
			m.signal = 19;
		if (m.what == JOB_SIGNAL)
			m.sent.signal = 15;
		if (m.what == JOB_DATA) {
			m.data.bytes = (const uint8_t *)"x";
			m.data.length = 1;
		}
		if (m.what == JOB_WANT)
			m.total = JOB_WINDOW;
		if (m.what >= JOB_OPENED)
			m.channel = JOB_CHANNEL_FILES;
		for (int at = JOB_PREPARING; at <= JOB_LOST; at++) {
			check_say(&home, &m, table[i].home_says, at);
			check_say(&executor, &m, table[i].executor_says, at);
			check_take(&home, &m, table[i].home_takes, at);
			check_take(&executor, &m, table[i].executor_takes, at);
		}
	}
	ends_channels = JOB_CHANNELS_USUAL;
}

/* GO is on its way when the executor's end refuses: home learns it, and nothing starts. */
static void test_refused_crosses_go(void **state)
{
	for (int sent = 0; sent < 2; sent++) {
		ends_run_to(JOB_PREPARED);
		assert_int_equal(ends_say(&home, JOB_GO), 0);
		assert_int_equal(ends_say(&executor, JOB_REFUSED), 0);
		if (sent)
			assert_true(ends_move(&executor, &home));
		assert_true(ends_move(&home, &executor));
		ends_pump();
		assert_int_equal(executor.nseen, 0); /* no GO */
		assert_int_equal(executor.e.state, JOB_FINISHED);
		assert_int_equal(home.e.state, JOB_FINISHED);
		assert_int_equal(ends_last(&home)->what, JOB_REFUSED);
		assert_true(job_end_done(&home.e));
		assert_true(job_end_done(&executor.e));
		assert_int_equal(home.lost + executor.lost, 0);
	}
}

/* The driver refuses what it was given. */
static void test_refused_by_driver(void **state)
{
	ends_run_to(JOB_PREPARED);
	home.refuse = -EPROTO;
	assert_int_equal(ends_deliver(&home, JOB_REFUSED, "\0\0\0\0\0\0\0\0", 8), -EPROTO);
	assert_int_equal(home.e.state, JOB_LOST);
}

/* ---- malformed ---- */

static void test_malformed(void **state)
{
	static const struct {
		enum job_state at;
		bool home;
		uint32_t type, length;
		const char *body;
	} bad[] = {
		{ JOB_PREPARING, true, 0, 0, "" },
		{ JOB_PREPARING, true, JOB_WHATS, 0, "" },
		{ JOB_PREPARING, true, UINT32_MAX - 2, 0, "" },
		{ JOB_PREPARING, true, JOB_REFUSED, 7, "\0\0\0\0\0\0\0" },
		{ JOB_COMMITTED, true, JOB_STARTED, 3, "\0\0\0" },
		{ JOB_RUNNING, true, JOB_STOPPED, 4, "\0\0\0\0" },
		{ JOB_RUNNING, true, JOB_STOPPED, 4, "\101\0\0\0" },
		{ JOB_RUNNING, true, JOB_EXIT, 64, NULL },
		{ JOB_RUNNING, true, JOB_DATA, 1, "\1" },
		{ JOB_RUNNING, true, JOB_DATA, 3, "\4\0x" },
		{ JOB_RUNNING, true, JOB_DATA, 3, "\1\2x" },
		{ JOB_RUNNING, true, JOB_DATA, 3, "\1\1x" }, /* a copy is towards the executor */
		{ JOB_RUNNING, true, JOB_DATA, 3, "\0\0x" }, /* without credit */
		{ JOB_RUNNING, true, JOB_DATA, 2, "\1\0" }, /* nothing to be written */
		{ JOB_RUNNING, true, JOB_DATA, JOB_DATA_MAX + 3, NULL },
		{ JOB_RUNNING, true, JOB_WANT, 8, "\0\0\0\0\0\0\0\0" },
		{ JOB_RUNNING, true, JOB_READ, 9, "\0\1\0\0\0\0\0\0\0" }, /* above what was sent */
		{ JOB_RUNNING, true, JOB_WANT, 9, "\0\1\0\4\0\0\0\0\0" }, /* a window and one */
		{ JOB_RUNNING, true, JOB_WANT, 9, "\0\377\377\377\377\377\377\377\377" },
		{ JOB_RUNNING, true, JOB_TERMINAL, 44, NULL },
		{ JOB_RUNNING, true, JOB_CLOSED, 0, "" },
		{ JOB_RUNNING, true, JOB_CLOSED, 1, "\4" },
		{ JOB_RUNNING, false, JOB_SIGNAL, 2, "\0\0" },
		{ JOB_RUNNING, false, JOB_SIGNAL, 2, "\101\0" },
		{ JOB_RUNNING, false, JOB_SIGNAL, 2, "\1\2" },
		{ JOB_RUNNING, false, JOB_FOREGROUND, 1, "\2" },
		{ JOB_RUNNING, false, JOB_OFFER, 2, "\0\2" },
		{ JOB_RUNNING, false, JOB_DATA, 3, "\0\0x" }, /* nobody wants it */
		{ JOB_RUNNING, false, JOB_DATA, 3, "\0\1x" }, /* a copy that was not offered */
		{ JOB_RUNNING, false, JOB_WANT, 9, "\1\0\0\0\0\0\0\0\0" }, /* less than before */
		{ JOB_RUNNING, false, JOB_NONE, 1, "\0" }, /* nobody wants anything */
	};
	static const char zeros[JOB_DATA_MAX + 3];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct side *s = bad[i].home ? &home : &executor;
		unsigned int before;

		ends_run_to(bad[i].at);
		before = s->nseen;
		if (ends_deliver(s, bad[i].type, bad[i].body ?: zeros, bad[i].length) != -EPROTO)
			fail_msg("%zu was taken", i);
		assert_int_equal(s->nseen, before);
		assert_int_equal(s->lost, 1);
		assert_int_equal(s->before, bad[i].at);
	}
}

static void test_link_malformed(void **state)
{
	uint8_t payload[LINK_HEADER + 1] = { 0 };

	/* shorter than its header, anything behind a hello, a frame without number */
	for (int i = 0; i < 6; i++) {
		ends_run_to(JOB_PREPARED);
		memset(payload, 0, sizeof(payload));
		frame_put_u32(payload + 16, i == 5 ? JOB_GO : i % 2 ? LINK_HELLO : LINK_ACK);
		if (i == 3 || i == 4)
			payload[0] = 1;
		assert_int_equal(job_end_take(&executor.e, payload,
					      i == 0  ? LINK_HEADER - 1
					      : i < 3 ? LINK_HEADER + 1
						      : LINK_HEADER),
				 -EPROTO);
		assert_int_equal(executor.lost, 1);
	}
	/* acknowledged what was never sent: kept is not enough */
	for (int i = 0; i < 3; i++) {
		ends_run_to(JOB_RUNNING);
		assert_int_equal(ends_say(&executor, JOB_CONTINUED), 0);
		memset(payload, 0, sizeof(payload));
		frame_put_u64(payload, i < 2 ? 0 : executor.e.link.expected);
		frame_put_u64(payload + 8, executor.e.link.sent + 1);
		frame_put_u32(payload + 16, i == 0 ? LINK_ACK : i == 1 ? LINK_HELLO : JOB_CLOSED);
		assert_int_equal(job_end_take(&executor.e, payload, LINK_HEADER + (i == 2)),
				 -EPROTO);
	}
	/* an end without a connection takes nothing at all */
	ends_begin();
	assert_int_equal(ends_deliver(&home, JOB_STARTED, NULL, 0), 0);
	assert_int_equal(home.lost, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_story),
		cmocka_unit_test(test_more),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_refused_crosses_go),
		cmocka_unit_test(test_refused_by_driver),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_link_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
