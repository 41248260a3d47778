/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two ends of a job, their routers and the connections between them, which break: for tests. */
#ifndef UNIT_JOB_ROUTES_H
#define UNIT_JOB_ROUTES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "job/end.h"
#include "random.h"

#define START 200
#define LIMIT 300
#define FRAME (FRAME_HEADER + LINK_HEADER + JOB_MESSAGE_MAX)
#define DEEP 64 /* entries of a queue */
#define FULL 8 /* of these, frames */
#define LATE 16
#define EXPECT (1u << 20)

enum { HOME, AWAY };

/* ---- what happens to frames ---- */

enum kind { LINK, ATTACHED, DETACHED, GONE };

struct entry {
	enum kind kind;
	size_t n;
	uint8_t bytes[FRAME];
};

/* Towards the executor 0 1 2, towards home 3 4 5; connections 0 and 2 are to the routers. */
static struct queue {
	unsigned int first, length;
	struct entry list[DEEP];
} queues[6];

static struct connection {
	bool up;
	int64_t again; /* when it may come again */
} connections[3];

static struct entry late[2][LATE]; /* towards home, the executor */

static struct end {
	struct job_end e;
	uint8_t *memory;
	bool alive, lost, gone;
	enum job_state before, seen;
	bool attached;
	int64_t since; /* attached, detached, or begun */
} ends[2];

static int64_t now;
static bool calm;
static unsigned int hostile; /* one step in so many has a fault */
static uint64_t breaks, odd, kills, longs, finished, lost_jobs, local_runs, nones, bytes_all;

static inline bool one_in(unsigned int n)
{
	return !random_below(n);
}

static inline struct queue *queue_out(int end)
{
	return &queues[end == HOME ? 0 : 3];
}

static inline void push(struct queue *q, enum kind kind, const uint8_t *bytes, size_t n)
{
	struct entry *e = &q->list[(q->first + q->length) % DEEP];

	assert_true(q->length < DEEP);
	e->kind = kind;
	e->n = n;
	if (n)
		memcpy(e->bytes, bytes, n);
	q->length++;
}

static inline void keep_late(int towards, const struct entry *e)
{
	struct entry *l = &late[towards][random_below(LATE)];

	if (e->kind != LINK)
		return;
	l->n = e->n;
	memcpy(l->bytes, e->bytes, e->n);
}

/* ---- connections ---- */

static inline void clear(int q)
{
	for (; queues[q].length; queues[q].length--, queues[q].first = (queues[q].first + 1) % DEEP)
		if (one_in(2))
			keep_late(q < 3 ? AWAY : HOME, &queues[q].list[queues[q].first]);
}

static inline void told_detached(int end)
{
	struct end *s = &ends[end];

	if (!s->alive)
		return;
	job_end_detach(&s->e, now);
	if (s->attached)
		s->since = now;
	s->attached = false;
}

static inline void drop(int c);

static inline void stream_closed(void)
{
	if (!connections[1].up)
		return;
	connections[1].up = false;
	connections[1].again = now + random_below(20);
	clear(1);
	clear(4);
	if (connections[0].up)
		push(&queues[5], DETACHED, NULL, 0);
	if (connections[2].up)
		push(&queues[2], DETACHED, NULL, 0);
}

static inline void drop(int c)
{
	if (c == 1) {
		stream_closed();
		return;
	}
	if (!connections[c].up)
		return;
	connections[c].up = false;
	connections[c].again = now + random_below(20);
	clear(c ? 2 : 0);
	clear(c ? 3 : 5);
	told_detached(c ? AWAY : HOME);
	stream_closed();
}

static inline void open_all(void)
{
	for (int c = 0; c < 3; c += 2)
		if (!connections[c].up && now >= connections[c].again && ends[c / 2].alive)
			connections[c].up = true;
	if (connections[0].up && connections[2].up && !connections[1].up &&
	    now >= connections[1].again && ends[HOME].alive && ends[AWAY].alive) {
		connections[1].up = true;
		push(&queues[5], ATTACHED, NULL, 0);
		push(&queues[2], ATTACHED, NULL, 0);
	}
}

static inline void take(int end, const struct entry *e)
{
	struct end *s = &ends[end];

	if (!s->alive)
		return;
	switch (e->kind) {
	case LINK:
		assert_int_equal(job_end_take(&s->e, e->bytes + FRAME_HEADER, e->n - FRAME_HEADER),
				 0);
		break;
	case ATTACHED:
		job_end_attach(&s->e);
		s->attached = true;
		s->since = now;
		break;
	case DETACHED:
		told_detached(end);
		break;
	case GONE:
		s->gone = true;
		job_end_gone(&s->e);
		break;
	}
}

/* The head of a queue goes on its way. */
static inline void forward(int q)
{
	struct queue *from = &queues[q];
	struct entry *e = &from->list[from->first];

	if (!from->length)
		return;
	if (q == 2 || q == 5) {
		if (one_in(8))
			keep_late(q == 2 ? AWAY : HOME, e);
		from->length--;
		from->first = (from->first + 1) % DEEP;
		take(q == 2 ? AWAY : HOME, e);
		return;
	}
	if (q == 1 || q == 4 ? connections[q == 1 ? 2 : 0].up : connections[1].up) {
		if (queues[q + 1].length >= FULL)
			return;
		push(&queues[q + 1], e->kind, e->bytes, e->n);
		if (!calm && e->kind == LINK && one_in(hostile * 4)) {
			push(&queues[q + 1], e->kind, e->bytes, e->n);
			odd++;
		}
	} else {
		keep_late(q < 3 ? AWAY : HOME, e);
	}
	from->length--;
	from->first = (from->first + 1) % DEEP;
}

static inline void send_out(int end)
{
	struct end *s = &ends[end];
	uint8_t frame[FRAME];
	size_t n;

	while (s->alive && queue_out(end)->length < FULL &&
	       (n = job_end_next(&s->e, frame, sizeof(frame)))) {
		/* without a connection to its router nothing is to be sent */
		assert_true(connections[2 * end].up);
		push(queue_out(end), LINK, frame, n);
	}
}

#endif
