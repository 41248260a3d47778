// SPDX-License-Identifier: GPL-2.0-or-later
#include "job_routes.h"

#include <stdlib.h>
#include <string.h>

#include "random.h"

struct job_routes job;

struct queue *routes_queue_out(int end)
{
	return &job.queues[end == HOME ? 0 : 3];
}

void routes_push(struct queue *q, enum kind kind, const uint8_t *bytes, size_t n)
{
	struct entry *e = &q->list[(q->first + q->length) % DEEP];

	assert_true(q->length < DEEP);
	e->kind = kind;
	e->n = n;
	if (n)
		memcpy(e->bytes, bytes, n);
	q->length++;
}

static void keep_late(int towards, const struct entry *e)
{
	struct entry *l = &job.late[towards][random_below(LATE)];

	if (e->kind != LINK)
		return;
	l->n = e->n;
	memcpy(l->bytes, e->bytes, e->n);
}

static void clear(int q)
{
	for (; job.queues[q].length;
	     job.queues[q].length--, job.queues[q].first = (job.queues[q].first + 1) % DEEP)
		if (random_one_in(2))
			keep_late(q < 3 ? AWAY : HOME, &job.queues[q].list[job.queues[q].first]);
}

static void told_detached(int end)
{
	struct end *s = &job.ends[end];

	if (!s->alive)
		return;
	job_end_detach(&s->e, job.now);
	if (s->attached)
		s->since = job.now;
	s->attached = false;
}

static void stream_closed(void)
{
	if (!job.connections[1].up)
		return;
	job.connections[1].up = false;
	job.connections[1].again = job.now + random_below(20);
	clear(1);
	clear(4);
	if (job.connections[0].up)
		routes_push(&job.queues[5], DETACHED, NULL, 0);
	if (job.connections[2].up)
		routes_push(&job.queues[2], DETACHED, NULL, 0);
}

void routes_drop(int c)
{
	if (c == 1) {
		stream_closed();
		return;
	}
	if (!job.connections[c].up)
		return;
	job.connections[c].up = false;
	job.connections[c].again = job.now + random_below(20);
	clear(c ? 2 : 0);
	clear(c ? 3 : 5);
	told_detached(c ? AWAY : HOME);
	stream_closed();
}

void routes_open_all(void)
{
	for (int c = 0; c < 3; c += 2)
		if (!job.connections[c].up && job.now >= job.connections[c].again &&
		    job.ends[c / 2].alive)
			job.connections[c].up = true;
	if (job.connections[0].up && job.connections[2].up && !job.connections[1].up &&
	    job.now >= job.connections[1].again && job.ends[HOME].alive && job.ends[AWAY].alive) {
		job.connections[1].up = true;
		routes_push(&job.queues[5], ATTACHED, NULL, 0);
		routes_push(&job.queues[2], ATTACHED, NULL, 0);
	}
}

void routes_take(int end, const struct entry *e)
{
	struct end *s = &job.ends[end];

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
		s->since = job.now;
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

void routes_forward(int q)
{
	struct queue *from = &job.queues[q];
	struct entry *e = &from->list[from->first];

	if (!from->length)
		return;
	if (q == 2 || q == 5) {
		if (random_one_in(8))
			keep_late(q == 2 ? AWAY : HOME, e);
		from->length--;
		from->first = (from->first + 1) % DEEP;
		routes_take(q == 2 ? AWAY : HOME, e);
		return;
	}
	if (q == 1 || q == 4 ? job.connections[q == 1 ? 2 : 0].up : job.connections[1].up) {
		if (job.queues[q + 1].length >= FULL)
			return;
		routes_push(&job.queues[q + 1], e->kind, e->bytes, e->n);
		if (!job.calm && e->kind == LINK && random_one_in(job.hostile * 4)) {
			routes_push(&job.queues[q + 1], e->kind, e->bytes, e->n);
			job.odd++;
		}
	} else {
		keep_late(q < 3 ? AWAY : HOME, e);
	}
	from->length--;
	from->first = (from->first + 1) % DEEP;
}

void routes_send_out(int end)
{
	struct end *s = &job.ends[end];
	uint8_t frame[FRAME];
	size_t n;

	while (s->alive && routes_queue_out(end)->length < FULL &&
	       (n = job_end_next(&s->e, frame, sizeof(frame)))) {
		/* without a connection to its router nothing is to be sent */
		assert_true(job.connections[2 * end].up);
		routes_push(routes_queue_out(end), LINK, frame, n);
	}
}
