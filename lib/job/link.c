// SPDX-License-Identifier: GPL-2.0-or-later
#include "job/link.h"

#include <errno.h>
#include <string.h>

#include "wire/cursor.h"
#include "wire/frame.h"

void job_link_init(struct job_link *l, uint8_t *memory, size_t size)
{
	memset(l, 0, sizeof(*l));
	l->memory = memory;
	l->size = size;
	l->tail_number = l->next_number = l->head_number = l->sent = 1;
	l->expected = l->told = 1;
}

void job_link_attach(struct job_link *l)
{
	l->first = !l->any;
	l->any = l->attached = true;
	l->greeted = false;
	l->hello_due = true;
	l->ack_due = false;
}

void job_link_detach(struct job_link *l)
{
	l->attached = l->greeted = l->hello_due = l->ack_due = false;
}

/* ---- the ring ---- */

static void ring_write(struct job_link *l, uint64_t at, const uint8_t *from, size_t n)
{
	size_t start = at % l->size, first = l->size - start;

	if (first > n)
		first = n;
	if (first)
		memcpy(l->memory + start, from, first);
	if (n > first)
		memcpy(l->memory, from + first, n - first);
}

static void ring_read(const struct job_link *l, uint64_t at, uint8_t *to, size_t n)
{
	size_t start = at % l->size, first = l->size - start;

	if (first > n)
		first = n;
	memcpy(to, l->memory + start, first);
	memcpy(to + first, l->memory, n - first);
}

static uint32_t ring_length(const struct job_link *l, uint64_t at)
{
	uint8_t head[LINK_KEPT];

	ring_read(l, at, head, sizeof(head));
	return frame_get_u32(head + 4);
}

size_t job_link_room(const struct job_link *l)
{
	size_t left = l->size - (l->head - l->tail);

	return left > LINK_KEPT ? left - LINK_KEPT : 0;
}

bool job_link_put(struct job_link *l, uint32_t type, const uint8_t *body, size_t length)
{
	uint8_t head[LINK_KEPT];

	if (l->size - (l->head - l->tail) < LINK_KEPT + length)
		return false;
	frame_put_u32(head, type);
	frame_put_u32(head + 4, length);
	ring_write(l, l->head, head, sizeof(head));
	ring_write(l, l->head + sizeof(head), body, length);
	l->head += sizeof(head) + length;
	l->head_number++;
	return true;
}

/* The other end has taken all frames below this number. */
static int link_acknowledged(struct job_link *l, uint64_t number)
{
	/* It cannot have what was not sent yet. */
	if (number > l->sent)
		return -EPROTO;
	while (l->tail_number < number) {
		l->tail += LINK_KEPT + ring_length(l, l->tail);
		l->tail_number++;
	}
	if (l->next_number < l->tail_number) {
		l->next = l->tail;
		l->next_number = l->tail_number;
	}
	/* As little memory is touched as is needed at a time, not all of it in turn. */
	if (l->tail == l->head)
		l->tail = l->next = l->head = 0;
	return 0;
}

/* Sends all again that the other end does not have. */
static int link_greeted(struct job_link *l, uint64_t number)
{
	int err;

	/* Frames below the tail are gone: it had acknowledged them. An old hello may still say so. */
	if (number < l->tail_number)
		return 0;
	err = link_acknowledged(l, number);
	if (err)
		return err;
	/* What the first connection has taken so far is on its way. */
	if (l->first && !l->greeted) {
		l->greeted = true;
		return 0;
	}
	l->greeted = true;
	l->next = l->tail;
	l->next_number = l->tail_number;
	return 0;
}

int job_link_take(struct job_link *l, const uint8_t *payload, size_t length,
		  struct job_link_frame *frame)
{
	struct cursor c = cursor_of(payload, length);
	uint64_t number = cursor_u64(&c), acknowledged = cursor_u64(&c);
	uint32_t type = cursor_u32(&c);
	int err;

	if (c.bad)
		return -EPROTO;
	if (!l->attached)
		return 0;
	if (type == LINK_HELLO)
		return number || cursor_left(&c) ? -EPROTO : link_greeted(l, acknowledged);
	/* What is on the way from an earlier connection comes before the hello. */
	if (!l->greeted)
		return 0;
	err = link_acknowledged(l, acknowledged);
	if (err)
		return err;
	if (type == LINK_ACK)
		return number || cursor_left(&c) ? -EPROTO : 0;
	if (!number)
		return -EPROTO;
	if (number != l->expected) {
		l->ack_due = true;
		return 0;
	}
	l->expected++;
	if (!l->held && l->expected - l->told >= LINK_ACK_EVERY)
		l->ack_due = true;
	*frame = (struct job_link_frame){ type, c.at, cursor_left(&c) };
	return 1;
}

/* ---- out ---- */

static size_t link_frame(struct job_link *l, uint8_t *out, uint64_t number, uint32_t type,
			 size_t body)
{
	struct cursor_out o = { out + FRAME_HEADER };

	l->told = l->held ? l->held : l->expected;
	frame_header(out, FRAME_LINK, LINK_HEADER + body);
	cursor_put_u64(&o, number);
	cursor_put_u64(&o, l->told);
	cursor_put_u32(&o, type);
	l->ack_due = false;
	return FRAME_HEADER + LINK_HEADER + body;
}

size_t job_link_next(struct job_link *l, uint8_t *out, size_t room)
{
	uint8_t head[LINK_KEPT];
	uint32_t length;
	size_t n;

	if (!l->attached || room < FRAME_HEADER + LINK_HEADER)
		return 0;
	if (l->hello_due) {
		l->hello_due = false;
		return link_frame(l, out, 0, LINK_HELLO, 0);
	}
	if ((l->greeted || l->first) && l->next != l->head) {
		ring_read(l, l->next, head, sizeof(head));
		length = frame_get_u32(head + 4);
		if (room < FRAME_HEADER + LINK_HEADER + length)
			return 0;
		n = link_frame(l, out, l->next_number, frame_get_u32(head), length);
		ring_read(l, l->next + LINK_KEPT, out + FRAME_HEADER + LINK_HEADER, length);
		l->next += LINK_KEPT + length;
		l->next_number++;
		if (l->sent < l->next_number)
			l->sent = l->next_number;
		return n;
	}
	return l->ack_due ? link_frame(l, out, 0, LINK_ACK, 0) : 0;
}

void job_link_hold(struct job_link *l, bool hold)
{
	if (hold == (l->held != 0))
		return;
	l->held = hold ? l->expected : 0;
	if (!hold && l->told != l->expected)
		l->ack_due = l->attached;
}

void job_link_acknowledge(struct job_link *l)
{
	l->ack_due = l->attached;
}

bool job_link_settled(const struct job_link *l)
{
	return l->tail == l->head;
}
