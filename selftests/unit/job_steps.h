/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two ends of a job and what goes between them, for tests: a step at a time. */
#ifndef UNIT_JOB_STEPS_H
#define UNIT_JOB_STEPS_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "job/end.h"

#define START 1000
#define LIMIT 60000
#define SEEN 64
#define FRAME (FRAME_HEADER + LINK_HEADER + JOB_MESSAGE_MAX)

struct side {
	struct job_end e;
	uint8_t memory[JOB_MEMORY];
	struct job_message seen[SEEN]; /* their pointers are of no use any more */
	unsigned int nseen, lost;
	enum job_state before;
	int refuse; /* what the next message is answered with */
};

static struct side home, executor;
static uint32_t channels = JOB_CHANNELS_USUAL; /* of the next job */

static inline int on_message(void *ctx, const struct job_message *m)
{
	struct side *s = ctx;
	int err = s->refuse;

	s->seen[s->nseen++ % SEEN] = *m;
	s->refuse = 0;
	return err;
}

static inline void on_lost(void *ctx, enum job_state before)
{
	struct side *s = ctx;

	s->lost++;
	s->before = before;
}

static const struct job_end_ops ops = { on_message, on_lost };

static inline void begin(void)
{
	memset(&home, 0, sizeof(home));
	memset(&executor, 0, sizeof(executor));
	job_end_init(&home.e, JOB_HOME, home.memory, 0, START, LIMIT, &ops, &home);
	job_end_init(&executor.e, JOB_EXECUTOR, executor.memory, 0, START, LIMIT, &ops, &executor);
	job_end_channels(&home.e, channels);
	job_end_channels(&executor.e, channels);
}

static inline void attach(void)
{
	job_end_attach(&home.e);
	job_end_attach(&executor.e);
}

static inline void detach(int64_t now)
{
	job_end_detach(&home.e, now);
	job_end_detach(&executor.e, now);
}

/* Moves one frame; false: there is none. */
static inline bool move(struct side *from, struct side *to)
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

static inline void pump(void)
{
	while (move(&home, &executor) | move(&executor, &home))
		;
}

static inline const struct job_message *last(const struct side *s)
{
	assert_true(s->nseen);
	return &s->seen[(s->nseen - 1) % SEEN];
}

static inline int say(struct side *s, enum job_what what)
{
	const struct job_message m = { .what = what };

	return job_end_say(&s->e, &m);
}

static inline int say_exit(bool more)
{
	const struct job_message m = { .what = JOB_EXIT, .exit = { { .status = 0x2a00 }, more } };

	return job_end_say(&executor.e, &m);
}

/* Says and delivers. */
static inline void tell(struct side *s, enum job_what what)
{
	assert_int_equal(say(s, what), 0);
	pump();
}

/* A frame as the other end would send it, with the next number; what job_end_take() returns. */
static inline int deliver(struct side *s, uint32_t type, const void *body, size_t n)
{
	uint8_t payload[LINK_HEADER + JOB_MESSAGE_MAX + 2];

	frame_put_u64(payload, type == LINK_HELLO || type == LINK_ACK ? 0 : s->e.link.expected);
	frame_put_u64(payload + 8, s->e.link.tail_number);
	frame_put_u32(payload + 16, type);
	if (n)
		memcpy(payload + LINK_HEADER, body, n);
	return job_end_take(&s->e, payload, LINK_HEADER + n);
}

static inline void run_to(enum job_state state)
{
	begin();
	attach();
	pump();
	/* It comes with what the executor's end says first. */
	if (state < JOB_PREPARED)
		assert_int_equal(deliver(&home, LINK_HELLO, NULL, 0), 0);
	if (state >= JOB_PREPARED)
		tell(&executor, JOB_READY);
	if (state >= JOB_COMMITTED)
		tell(&home, JOB_GO);
	if (state >= JOB_RUNNING)
		tell(&executor, JOB_STARTED);
	if (state >= JOB_ENDED) {
		assert_int_equal(say_exit(state == JOB_ENDED), 0);
		pump();
	}
	if (state == JOB_LOST)
		job_end_gone(&home.e), job_end_gone(&executor.e);
	assert_int_equal(home.e.state, state == JOB_LOST ? JOB_LOST : state);
	assert_int_equal(executor.e.state, home.e.state);
}

static inline void offer(bool ahead)
{
	const struct job_message m = { .what = JOB_OFFER, .ahead = ahead };

	assert_int_equal(job_end_say(&home.e, &m), 0);
	pump();
}

static inline void want(size_t n)
{
	job_end_grant(&executor.e, 0, n);
	pump();
}

static inline int deliver_message(struct side *s, const struct job_message *m)
{
	uint8_t body[JOB_MESSAGE_MAX];

	return deliver(s, m->what, body, job_message_encode(m, body));
}

#endif
