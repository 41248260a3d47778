// SPDX-License-Identifier: GPL-2.0-or-later
#include "job_ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct side home, executor;
uint32_t ends_channels = JOB_CHANNELS_USUAL;

static int on_message(void *ctx, const struct job_message *m)
{
	struct side *s = ctx;
	int err = s->refuse;

	s->seen[s->nseen++ % SEEN] = *m;
	s->refuse = 0;
	return err;
}

static void on_lost(void *ctx, enum job_state before)
{
	struct side *s = ctx;

	s->lost++;
	s->before = before;
}

static const struct job_end_ops ops = { on_message, on_lost };

void ends_begin(void)
{
	memset(&home, 0, sizeof(home));
	memset(&executor, 0, sizeof(executor));
	job_end_init(&home.e, JOB_HOME, home.memory, 0, START, LIMIT, &ops, &home);
	job_end_init(&executor.e, JOB_EXECUTOR, executor.memory, 0, START, LIMIT, &ops, &executor);
	job_end_channels(&home.e, ends_channels);
	job_end_channels(&executor.e, ends_channels);
}

void ends_attach(void)
{
	job_end_attach(&home.e);
	job_end_attach(&executor.e);
}

void ends_detach(int64_t now)
{
	job_end_detach(&home.e, now);
	job_end_detach(&executor.e, now);
}

bool ends_move(struct side *from, struct side *to)
{
	uint8_t frame[FRAME];
	size_t n = job_end_next(&from->e, frame, sizeof(frame));
	enum frame_type type;
	uint32_t length;

	if (!n)
		return false;
	assert_int_equal(frame_parse(frame, &type, &length), 0);
	assert_int_equal(type, FRAME_LINK);
	assert_int_equal(length, n - FRAME_HEADER);
	assert_int_equal(job_end_take(&to->e, frame + FRAME_HEADER, length), 0);
	return true;
}

void ends_pump(void)
{
	while (ends_move(&home, &executor) | ends_move(&executor, &home))
		;
}

const struct job_message *ends_last(const struct side *s)
{
	assert_true(s->nseen);
	return &s->seen[(s->nseen - 1) % SEEN];
}

int ends_say(struct side *s, enum job_what what)
{
	const struct job_message m = { .what = what };

	return job_end_say(&s->e, &m);
}

int ends_say_exit(bool more)
{
	const struct job_message m = { .what = JOB_EXIT, .exit = { { .status = 0x2a00 }, more } };

	return job_end_say(&executor.e, &m);
}

void ends_tell(struct side *s, enum job_what what)
{
	assert_int_equal(ends_say(s, what), 0);
	ends_pump();
}

int ends_deliver(struct side *s, uint32_t type, const void *body, size_t n)
{
	uint8_t payload[LINK_HEADER + JOB_MESSAGE_MAX + 2];

	frame_put_u64(payload, type == LINK_HELLO || type == LINK_ACK ? 0 : s->e.link.expected);
	frame_put_u64(payload + 8, s->e.link.tail_number);
	frame_put_u32(payload + 16, type);
	if (n)
		memcpy(payload + LINK_HEADER, body, n);
	return job_end_take(&s->e, payload, LINK_HEADER + n);
}

void ends_run_to(enum job_state state)
{
	ends_begin();
	ends_attach();
	ends_pump();
	/* It comes with what the executor's end says first. */
	if (state < JOB_PREPARED)
		assert_int_equal(ends_deliver(&home, LINK_HELLO, NULL, 0), 0);
	if (state >= JOB_PREPARED)
		ends_tell(&executor, JOB_READY);
	if (state >= JOB_COMMITTED)
		ends_tell(&home, JOB_GO);
	if (state >= JOB_RUNNING)
		ends_tell(&executor, JOB_STARTED);
	if (state >= JOB_ENDED) {
		assert_int_equal(ends_say_exit(state == JOB_ENDED), 0);
		ends_pump();
	}
	if (state == JOB_LOST)
		job_end_gone(&home.e), job_end_gone(&executor.e);
	assert_int_equal(home.e.state, state == JOB_LOST ? JOB_LOST : state);
	assert_int_equal(executor.e.state, home.e.state);
}

void ends_offer(bool ahead)
{
	const struct job_message m = { .what = JOB_OFFER, .ahead = ahead };

	assert_int_equal(job_end_say(&home.e, &m), 0);
	ends_pump();
}

void ends_want(size_t n)
{
	job_end_grant(&executor.e, 0, n);
	ends_pump();
}

int ends_deliver_message(struct side *s, const struct job_message *m)
{
	uint8_t body[JOB_MESSAGE_MAX];

	return ends_deliver(s, m->what, body, job_message_encode(m, body));
}
