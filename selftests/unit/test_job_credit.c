// SPDX-License-Identifier: GPL-2.0-or-later
/* The channels of a job: credit and what makes it void, copies read ahead, the bounds of memory, encoding. */
#include <errno.h>
#include <string.h>

#include "job_ends.h"

/* ---- credit ---- */

static uint8_t bytes[JOB_DATA_MAX];

static void test_want(void **state)
{
	ends_run_to(JOB_RUNNING);
	assert_int_equal(job_end_granted(&executor.e, 0), 0);
	ends_offer(false);
	assert_int_equal(job_end_room(&home.e, 0), 0);
	ends_want(100);
	assert_int_equal(job_end_room(&home.e, 0), 100);
	assert_int_equal(ends_last(&home)->what, JOB_WANT);
	assert_int_equal(ends_last(&home)->total, 100);
	/* not as many: the rest is void, at both ends */
	job_end_send(&home.e, 0, bytes, 60, false);
	assert_int_equal(job_end_room(&home.e, 0), 0);
	assert_int_equal(job_end_granted(&executor.e, 0), 100);
	ends_pump();
	assert_int_equal(ends_last(&executor)->data.length, 60);
	assert_int_equal(job_end_granted(&executor.e, 0), 0);
	ends_want(50);
	assert_int_equal(job_end_room(&home.e, 0), 50);
	assert_int_equal(ends_last(&home)->total, 110);
	/* taken by another process */
	ends_tell(&home, JOB_NONE);
	assert_int_equal(job_end_room(&home.e, 0), 0);
	assert_int_equal(job_end_granted(&executor.e, 0), 0);
	/* answered once */
	assert_int_equal(ends_say(&home, JOB_NONE), -EPROTO);
	ends_want(1);
	assert_int_equal(job_end_room(&home.e, 0), 1);
	ends_tell(&home, JOB_END);
	assert_int_equal(job_end_granted(&executor.e, 0), 0);
	assert_int_equal(job_end_room(&home.e, 0), 0);
	assert_int_equal(ends_say(&home, JOB_END), -EPROTO);
	assert_int_equal(ends_say(&home, JOB_NONE), -EPROTO);
	assert_int_equal(home.lost + executor.lost, 0);
}

/* A second wish does not cross with the answer to the first. */
static void test_want_twice(void **state)
{
	ends_run_to(JOB_RUNNING);
	job_end_grant(&executor.e, 0, 100);
	while (ends_move(&executor, &home))
		;
	job_end_send(&home.e, 0, bytes, 60, false);
	job_end_grant(&executor.e, 0, 50);
	while (ends_move(&executor, &home))
		;
	assert_int_equal(job_end_room(&home.e, 0), 0);
	ends_pump();
	assert_int_equal(job_end_granted(&executor.e, 0), 0);
	ends_want(50);
	assert_int_equal(job_end_room(&home.e, 0), 50);
	job_end_send(&home.e, 0, bytes, 50, false);
	ends_pump();
	assert_int_equal(home.lost + executor.lost, 0);
}

/* A program may read as much as it likes. */
static void test_want_much(void **state)
{
	ends_run_to(JOB_RUNNING);
	ends_want(SIZE_MAX);
	assert_int_equal(job_end_granted(&executor.e, 0), JOB_WINDOW);
	assert_int_equal(job_end_room(&home.e, 0), JOB_DATA_MAX);
	job_end_send(&home.e, 0, bytes, JOB_DATA_MAX, false);
	ends_pump();
	ends_want(JOB_WINDOW - 1);
	ends_want(JOB_WINDOW - 1);
	assert_int_equal(job_end_granted(&executor.e, 0), JOB_WINDOW - 1);
	assert_int_equal(home.lost + executor.lost, 0);
}

/* That it is not sure is told once for each offer, with or without credit, and gives none. */
static void test_unsure(void **state)
{
	unsigned int before;

	ends_run_to(JOB_RUNNING);
	ends_offer(false);
	job_end_unsure(&executor.e, 0);
	ends_pump();
	assert_int_equal(ends_last(&home)->what, JOB_WANT);
	assert_int_equal(ends_last(&home)->total, 0);
	assert_true(home.e.channels[0].unsure);
	assert_int_equal(job_end_room(&home.e, 0), 0);
	before = home.nseen;
	job_end_unsure(&executor.e, 0);
	ends_pump();
	assert_int_equal(home.nseen, before);
	/* one that is sure comes after it */
	ends_want(7);
	assert_int_equal(job_end_room(&home.e, 0), 7);
	job_end_send(&home.e, 0, bytes, 7, false);
	assert_false(home.e.channels[0].unsure);
	ends_pump();
	ends_offer(false);
	job_end_unsure(&executor.e, 0);
	ends_want(1);
	assert_true(home.e.channels[0].unsure);
	assert_int_equal(ends_last(&home)->total, 8);
	assert_int_equal(job_end_room(&home.e, 0), 1);
	/* copies are an answer to it */
	ends_offer(true);
	before = home.nseen;
	job_end_unsure(&executor.e, 0);
	ends_pump();
	assert_int_equal(home.nseen, before);
	assert_int_equal(home.lost + executor.lost, 0);
}

/* An end by shutdown() is told apart, and the others are not. */
static void test_shut(void **state)
{
	struct job_message m = { .what = JOB_END, .channel = 1, .shut = true };

	ends_run_to(JOB_RUNNING);
	assert_int_equal(job_end_say(&executor.e, &m), 0);
	ends_pump();
	assert_int_equal(ends_last(&home)->what, JOB_END);
	assert_true(ends_last(&home)->shut);
	m = (struct job_message){ .what = JOB_END, .channel = 2 };
	assert_int_equal(job_end_say(&executor.e, &m), 0);
	ends_pump();
	assert_false(ends_last(&home)->shut);
	/* nor was the first one's close */
	m = (struct job_message){ .what = JOB_CLOSED, .channel = 1 };
	assert_int_equal(job_end_say(&executor.e, &m), 0);
	ends_pump();
	assert_int_equal(ends_last(&home)->what, JOB_CLOSED);
	assert_false(ends_last(&home)->shut);
	/* what was read just before does not look like it */
	ends_offer(false);
	ends_want(3);
	job_end_send(&home.e, 0, bytes, 3, false);
	ends_pump();
	job_end_read(&executor.e, 0, 3);
	m = (struct job_message){ .what = JOB_CLOSED };
	assert_int_equal(job_end_say(&executor.e, &m), 0);
	ends_pump();
	assert_int_equal(ends_last(&home)->what, JOB_CLOSED);
	assert_false(ends_last(&home)->shut);
	assert_int_equal(home.lost + executor.lost, 0);
}

/* What was read and not told yet comes before it. */
static void test_shut_after_read(void **state)
{
	struct job_message m = { .what = JOB_CLOSED, .shut = true };

	ends_run_to(JOB_RUNNING);
	ends_offer(false);
	ends_want(3);
	job_end_send(&home.e, 0, bytes, 3, false);
	ends_pump();
	job_end_read(&executor.e, 0, 2);
	assert_int_equal(job_end_say(&executor.e, &m), 0);
	ends_pump();
	assert_int_equal(home.lost + executor.lost, 0);
	assert_int_equal(ends_last(&home)->what, JOB_CLOSED);
	assert_true(ends_last(&home)->shut);
	assert_int_equal(home.e.channels[0].read, 2);
}

/* An empty line's end of file counts as a byte. */
static void test_typed_end(void **state)
{
	ends_run_to(JOB_RUNNING);
	job_end_grant(&executor.e, 3, 10);
	ends_pump();
	job_end_send(&home.e, 3, NULL, 0, false);
	ends_pump();
	assert_int_equal(ends_last(&executor)->what, JOB_DATA);
	assert_int_equal(ends_last(&executor)->channel, 3);
	assert_int_equal(ends_last(&executor)->data.length, 0);
	assert_int_equal(executor.e.channels[3].got, 1);
	job_end_read(&executor.e, 3, 1);
	ends_tell(&executor, JOB_CONTINUED);
	job_end_grant(&executor.e, 3, 5);
	ends_pump();
	assert_int_equal(home.seen[home.nseen - 2].what, JOB_READ);
	assert_int_equal(home.seen[home.nseen - 2].total, 1);
	assert_int_equal(ends_last(&home)->total, 6);
	assert_int_equal(home.lost + executor.lost, 0);
}

/* Copies flow within a window; what was read is told with more credit, and before a stop or an end. */
static void test_ahead(void **state)
{
	static const enum job_what ends[] = { JOB_STOPPED, JOB_EXIT, JOB_OVER, JOB_CLOSED };
	uint64_t sent = 0;

	for (int i = 0; i < 4; i++) {
		ends_run_to(i == 2 ? JOB_ENDED : JOB_RUNNING);
		sent = 0;
		ends_offer(false);
		ends_want(10);
		ends_offer(true);
		assert_int_equal(job_end_granted(&executor.e, 0), JOB_WINDOW);
		while (job_end_room(&home.e, 0)) {
			size_t n = job_end_room(&home.e, 0);

			job_end_send(&home.e, 0, bytes, n, true);
			sent += n;
			ends_pump();
			assert_true(ends_last(&executor)->data.copy);
		}
		assert_int_equal(sent, JOB_WINDOW);
		assert_int_equal(ends_say(&home, JOB_NONE), -EPROTO);
		job_end_read(&executor.e, 0, JOB_STEP - 1);
		job_end_grant(&executor.e, 0, JOB_STEP - 1);
		ends_pump();
		assert_int_equal(job_end_room(&home.e, 0), 0);
		job_end_read(&executor.e, 0, JOB_STEP);
		job_end_grant(&executor.e, 0, 1);
		ends_pump();
		assert_int_equal(home.seen[home.nseen - 2].what, JOB_READ);
		assert_int_equal(home.seen[home.nseen - 2].total, JOB_STEP);
		assert_int_equal(ends_last(&home)->what, JOB_WANT);
		assert_int_equal(ends_last(&home)->total, JOB_WINDOW + JOB_STEP);
		assert_int_equal(job_end_room(&home.e, 0), JOB_DATA_MAX);
		job_end_read(&executor.e, 0, JOB_STEP + 7);
		if (i == 0) {
			const struct job_message m = { .what = JOB_STOPPED, .signal = 19 };

			assert_int_equal(job_end_say(&executor.e, &m), 0);
		} else if (i == 3) {
			assert_int_equal(ends_say(&executor, JOB_CLOSED), 0);
		} else {
			assert_int_equal(
				i == 1 ? ends_say_exit(false) : ends_say(&executor, JOB_OVER), 0);
		}
		ends_pump();
		assert_int_equal(ends_last(&home)->what, ends[i]);
		assert_int_equal(home.seen[home.nseen - 2].what, JOB_READ);
		assert_int_equal(home.seen[home.nseen - 2].total, JOB_STEP + 7);
		assert_int_equal(home.lost + executor.lost, 0);
	}
}

static void test_ahead_refused(void **state)
{
	const struct job_message none = { .what = JOB_NONE };
	struct job_message m = { .what = JOB_DATA, .data = { .bytes = bytes, .length = 1 } };

	for (int i = 0; i < 4; i++) {
		ends_run_to(JOB_RUNNING);
		ends_offer(true);
		m.data.copy = true;
		if (i == 3) { /* READ goes back */
			job_end_send(&home.e, 0, bytes, 8, true);
			ends_pump();
			m = (struct job_message){ .what = JOB_READ, .total = 5 };
			assert_int_equal(ends_deliver_message(&home, &m), 0);
			assert_int_equal(ends_deliver_message(&home, &m), 0);
			m.total = 4;
			assert_int_equal(ends_deliver_message(&home, &m), -EPROTO);
			continue;
		}
		assert_int_equal(ends_deliver_message(&executor, &m), 0);
		if (i == 1) /* what was offered as copies comes as copies */
			m.data.copy = false;
		if (i == 2) /* not granted */
			executor.e.channels[0].got = executor.e.channels[0].granted;
		assert_int_equal(ends_deliver_message(&executor, i ? &m : &none), -EPROTO);
	}
}

/* The other end reads no more: nothing is sent to it, and what came until then counts. */
static void test_closed(void **state)
{
	ends_run_to(JOB_RUNNING);
	assert_true(job_end_room(&executor.e, 1));
	assert_int_equal(
		job_end_say(&home.e, &(struct job_message){ .what = JOB_CLOSED, .channel = 1 }), 0);
	ends_pump();
	assert_int_equal(job_end_room(&executor.e, 1), 0);
	assert_true(job_end_room(&executor.e, 2));
	assert_int_equal(
		job_end_say(&executor.e, &(struct job_message){ .what = JOB_END, .channel = 2 }),
		0);
	assert_int_equal(job_end_room(&executor.e, 2), 0);
	ends_pump();
	/* none after the end */
	assert_int_equal(ends_deliver(&home, JOB_DATA, "\2\0x", 3), -EPROTO);
}

static void test_output_credit(void **state)
{
	uint64_t sent = 0;

	ends_run_to(JOB_RUNNING);
	for (size_t n; (n = job_end_room(&executor.e, 1)); sent += n) {
		job_end_send(&executor.e, 1, bytes, n, false);
		ends_pump();
	}
	assert_int_equal(sent, JOB_WINDOW);
	job_end_grant(&home.e, 1, JOB_STEP - 1);
	ends_pump();
	assert_int_equal(job_end_room(&executor.e, 1), 0);
	job_end_grant(&home.e, 1, 1);
	ends_pump();
	assert_int_equal(job_end_room(&executor.e, 1), JOB_DATA_MAX);
	/* one byte more than was granted */
	home.e.channels[1].told = home.e.channels[1].granted = home.e.channels[1].got;
	assert_int_equal(ends_deliver(&home, JOB_DATA, "\1\0x", 3), -EPROTO);
}

/* A job has only the channels that its descriptors need, and those of open files carry both ways. */
static void test_more(void **state)
{
	struct job_message m = { .what = JOB_OFFER, .channel = 5 };
	struct job_message data = { .what = JOB_DATA,
				    .channel = 5,
				    .data = { .bytes = bytes, .length = 1 } };

	ends_run_to(JOB_RUNNING);
	assert_int_equal(job_end_room(&executor.e, 5), 0);
	assert_int_equal(job_end_say(&home.e, &m), -EPROTO);
	assert_int_equal(ends_deliver_message(&home, &data), -EPROTO);

	ends_begin();
	job_end_channels(&home.e, 6);
	job_end_channels(&executor.e, 6);
	ends_attach();
	ends_pump();
	m = (struct job_message){ .what = JOB_OPENED, .channel = 4 };
	assert_int_equal(job_end_say(&home.e, &m), -EPROTO);
	assert_int_equal(job_end_say(&executor.e, &m), 0);
	m.channel = 2;
	assert_int_equal(job_end_say(&executor.e, &m), -EPROTO);
	m.channel = 6;
	assert_int_equal(job_end_say(&executor.e, &m), -EPROTO);
	ends_tell(&executor, JOB_READY);
	assert_int_equal(home.seen[0].what, JOB_OPENED);
	assert_int_equal(home.seen[0].channel, 4);
	m.channel = 5;
	assert_int_equal(job_end_say(&executor.e, &m), -EPROTO); /* too late */
	ends_tell(&home, JOB_GO);
	ends_tell(&executor, JOB_STARTED);
	/* out */
	assert_int_equal(job_end_room(&executor.e, 5), JOB_DATA_MAX);
	job_end_send(&executor.e, 5, bytes, 7, false);
	ends_pump();
	assert_int_equal(ends_last(&home)->channel, 5);
	assert_int_equal(ends_last(&home)->data.length, 7);
	/* in, when the program wants it */
	assert_int_equal(job_end_room(&home.e, 5), 0);
	m = (struct job_message){ .what = JOB_OFFER, .channel = 5 };
	assert_int_equal(job_end_say(&home.e, &m), 0);
	ends_pump();
	job_end_grant(&executor.e, 5, 3);
	ends_pump();
	assert_int_equal(job_end_room(&home.e, 5), 3);
	job_end_send(&home.e, 5, bytes, 2, false);
	ends_pump();
	assert_int_equal(ends_last(&executor)->data.length, 2);
	assert_int_equal(job_end_granted(&executor.e, 5), 0);
	/* and what was read of it is known before the end */
	job_end_read(&executor.e, 5, 1);
	m = (struct job_message){ .what = JOB_SEEK, .channel = 4, .offset = 99 };
	assert_int_equal(job_end_say(&executor.e, &m), 0);
	assert_int_equal(ends_say_exit(false), 0);
	ends_pump();
	assert_int_equal(home.e.channels[5].read, 1);
	assert_int_equal(home.seen[home.nseen - 3].what, JOB_SEEK);
	assert_int_equal(home.seen[home.nseen - 3].offset, 99);
	assert_int_equal(ends_last(&home)->what, JOB_EXIT);
	assert_int_equal(home.lost + executor.lost, 0);
}

/* ---- memory ---- */

/* However much is written without a connection, messages have their room, and an exit has. */
static void test_full(void **state)
{
	struct job_message text = { .what = JOB_REFUSED };
	static char longest[JOB_TEXT_MAX + 1];
	unsigned int frames = 0;
	uint64_t sent = 0;

	ends_run_to(JOB_RUNNING);
	ends_detach(1);
	for (uint32_t i = 1; i < JOB_CHANNELS; i++)
		for (size_t n; (n = job_end_room(&executor.e, i)); sent += n, frames++)
			job_end_send(&executor.e, i, bytes, n, false);
	assert_true(sent + 10 * frames + 64 > JOB_MEMORY - 8192);
	assert_true(sent < JOB_MEMORY - 8192);
	assert_true(job_link_room(&executor.e.link) >= 8192 - 2 * LINK_KEPT);
	for (int i = 0; i < 100; i++)
		assert_int_equal(ends_say(&executor, JOB_CONTINUED), 0);
	job_end_read(&executor.e, 0, 0);
	assert_int_equal(ends_say_exit(false), 0);
	ends_attach();
	ends_pump();
	assert_int_equal(home.e.state, JOB_FINISHED);
	assert_int_equal(home.nseen, 2 + frames + 100 + 1);
	assert_true(job_end_done(&executor.e));

	/* full to its end: -EAGAIN changes nothing, and after an acknowledgement it goes on */
	ends_run_to(JOB_RUNNING);
	ends_detach(1);
	while (!ends_say(&executor, JOB_CONTINUED))
		;
	assert_int_equal(ends_say(&executor, JOB_CONTINUED), -EAGAIN);
	assert_int_equal(job_end_room(&executor.e, 1), 0);
	assert_int_equal(ends_say_exit(false), -EAGAIN);
	assert_int_equal(executor.e.state, JOB_RUNNING);
	assert_true(executor.e.link.head - executor.e.link.tail <= JOB_MEMORY);
	ends_attach();
	ends_pump();
	assert_int_equal(ends_say_exit(false), 0);
	ends_pump();
	assert_int_equal(home.e.state, JOB_FINISHED);

	/* the longest text, and no longer one */
	ends_run_to(JOB_PREPARED);
	text.refused.text = longest;
	text.refused.length = sizeof(longest);
	assert_int_equal(job_end_say(&executor.e, &text), -EPROTO);
	text.refused.length--;
	assert_int_equal(job_end_say(&executor.e, &text), 0);
	ends_pump();
	assert_int_equal(ends_last(&home)->refused.length, JOB_TEXT_MAX);
}

/* Nothing is written beyond `room`, and what did not fit comes later. */
static void test_small_room(void **state)
{
	uint8_t frame[FRAME];

	ends_run_to(JOB_RUNNING);
	job_end_send(&executor.e, 1, bytes, 100, false);
	memset(frame, 0xee, sizeof(frame));
	for (size_t n = 0; n < FRAME_HEADER + LINK_HEADER + 102; n++)
		assert_int_equal(job_end_next(&executor.e, frame, n), 0);
	assert_int_equal(frame[0], 0xee);
	assert_int_equal(job_end_next(&executor.e, frame, FRAME_HEADER + LINK_HEADER + 102),
			 FRAME_HEADER + LINK_HEADER + 102);
}

/* ---- messages ---- */

static void test_messages(void **state)
{
	uint8_t body[JOB_MESSAGE_MAX + 1], again[JOB_MESSAGE_MAX];

	for (uint32_t what = 1; what < JOB_WHATS; what++) {
		struct job_message m = { .what = what }, back;
		size_t n;

		memset(&m.exit.use, 0, sizeof(m.exit.use));
		switch (what) {
		case JOB_STARTED:
			m.pid = 0x12345678;
			break;
		case JOB_STOPPED:
			m.signal = 64;
			break;
		case JOB_REFUSED:
			m.refused.reason = 7;
			m.refused.error = 13;
			m.refused.text = "why";
			m.refused.length = 3;
			break;
		case JOB_EXIT:
			m.exit.use = (struct frame_exit){ 9, 1, 2, 3, 4, 5, 6, 7 };
			m.exit.more = true;
			break;
		case JOB_SIGNAL:
			m.sent.signal = 40;
			m.sent.reach = JOB_TO_GROUP;
			m.sent.queued = true;
			m.sent.pid = 4711;
			m.sent.uid = 1000;
			m.sent.value = 1ull << 40 | 5;
			break;
		case JOB_FOREGROUND:
			m.foreground = true;
			break;
		case JOB_DATA:
			m.channel = 3;
			m.data.bytes = bytes;
			m.data.length = JOB_DATA_MAX;
			m.data.copy = true;
			break;
		case JOB_OFFER:
			m.channel = 2;
			m.ahead = true;
			break;
		case JOB_WANT:
		case JOB_READ:
			m.channel = 1;
			m.total = 0x123456789abcdef0;
			break;
		case JOB_OPENED:
		case JOB_LOCK:
			m.channel = JOB_CHANNELS - 1;
			m.exclusive = what == JOB_LOCK;
			break;
		case JOB_SEEK:
			m.channel = 4;
			m.offset = 0x123456789abcdef0;
			break;
		default:
			break;
		}
		n = job_message_encode(&m, body);
		assert_true(n <= JOB_MESSAGE_MAX);
		assert_int_equal(job_message_decode(&back, what, body, n), 0);
		assert_int_equal(back.what, what);
		assert_int_equal(back.channel, m.channel);
		assert_int_equal(job_message_encode(&back, again), n);
		assert_memory_equal(body, again, n);
		/* What a newer version has added behind it. */
		body[n] = 0xa5;
		if (what != JOB_DATA && what != JOB_REFUSED) {
			assert_int_equal(job_message_decode(&back, what, body, n + 1), 0);
			assert_int_equal(job_message_encode(&back, again), n);
			assert_memory_equal(body, again, n);
		}
		for (size_t i = 0; i < n && what != JOB_DATA && what != JOB_REFUSED; i++)
			assert_int_equal(job_message_decode(&back, what, body, i), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_want),	      cmocka_unit_test(test_want_twice),
		cmocka_unit_test(test_want_much),     cmocka_unit_test(test_unsure),
		cmocka_unit_test(test_shut),	      cmocka_unit_test(test_shut_after_read),
		cmocka_unit_test(test_typed_end),     cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_ahead_refused), cmocka_unit_test(test_closed),
		cmocka_unit_test(test_output_credit), cmocka_unit_test(test_full),
		cmocka_unit_test(test_small_room),    cmocka_unit_test(test_messages),
		cmocka_unit_test(test_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
