// SPDX-License-Identifier: GPL-2.0-or-later
#include "attach.h"

#include <errno.h>
#include <string.h>

#include "cursor.h"

static void get_text(struct cursor *c, char *to, size_t size)
{
	const char *text = cursor_string(c, size - 1);

	if (text)
		strcpy(to, text); /* cursor_string() has seen its end */
}

static int decoded(const struct cursor *c)
{
	return cursor_good(c) ? 0 : -EBADMSG;
}

size_t attach_encode(const struct attach *a, uint8_t *out)
{
	struct cursor_out o = { out };

	cursor_put_u8(&o, a->executor);
	cursor_put_u8(&o, a->stopped);
	cursor_put_u32(&o, a->pid);
	cursor_put_u32(&o, a->uid);
	cursor_put_u64(&o, a->started_ms);
	cursor_put_string(&o, a->token);
	cursor_put_string(&o, a->id);
	cursor_put_string(&o, a->other);
	cursor_put_string(&o, a->command);
	/* agents of protocol 1 take nothing more */
	if (a->over)
		cursor_put_u8(&o, a->over);
	return o.at - out;
}

int attach_decode(struct attach *a, const uint8_t *in, size_t length)
{
	struct cursor c = cursor_of(in, length);

	memset(a, 0, sizeof(*a));
	a->executor = cursor_bool(&c);
	a->stopped = cursor_bool(&c);
	a->pid = cursor_u32(&c);
	a->uid = cursor_u32(&c);
	a->started_ms = cursor_u64(&c);
	get_text(&c, a->token, sizeof(a->token));
	get_text(&c, a->id, sizeof(a->id));
	get_text(&c, a->other, sizeof(a->other));
	get_text(&c, a->command, sizeof(a->command));
	if (cursor_left(&c))
		a->over = cursor_bool(&c);
	return decoded(&c);
}

bool attach_is_executor(const uint8_t *in, size_t length)
{
	return length && in[0] == 1;
}

size_t attached_encode(const struct attached *a, uint8_t *out)
{
	struct cursor_out o = { out };

	cursor_put_u32(&o, a->limit_ms);
	cursor_put_u64(&o, a->started_ms);
	cursor_put_string(&o, a->token);
	cursor_put_string(&o, a->id);
	cursor_put_string(&o, a->other);
	cursor_put_string(&o, a->host);
	cursor_put_u8(&o, a->retry);
	cursor_put_u8(&o, a->wait);
	return o.at - out;
}

int attached_decode(struct attached *a, const uint8_t *in, size_t length)
{
	struct cursor c = cursor_of(in, length);

	memset(a, 0, sizeof(*a));
	a->limit_ms = cursor_u32(&c);
	a->started_ms = cursor_u64(&c);
	get_text(&c, a->token, sizeof(a->token));
	get_text(&c, a->id, sizeof(a->id));
	get_text(&c, a->other, sizeof(a->other));
	get_text(&c, a->host, sizeof(a->host));
	a->retry = cursor_bool(&c);
	a->wait = cursor_bool(&c);
	return decoded(&c);
}

static void put_times(struct cursor_out *o, const struct note *n)
{
	if (n->timed && n->what == NOTE_STARTED) {
		cursor_put_u64(o, n->begun_us);
		cursor_put_u64(o, n->ready_us);
		cursor_put_u64(o, n->go_us);
		cursor_put_u64(o, n->started_us);
	} else if (n->timed && (n->what == NOTE_ENDED || n->what == NOTE_SAME)) {
		cursor_put_u64(o, n->ended_us);
	}
}

static void get_times(struct cursor *c, struct note *n)
{
	n->timed = cursor_left(c) &&
		   (n->what == NOTE_STARTED || n->what == NOTE_ENDED || n->what == NOTE_SAME);
	if (n->timed && n->what == NOTE_STARTED) {
		n->begun_us = cursor_u64(c);
		n->ready_us = cursor_u64(c);
		n->go_us = cursor_u64(c);
		n->started_us = cursor_u64(c);
	} else if (n->timed) {
		n->ended_us = cursor_u64(c);
	}
}

size_t note_encode(const struct note *n, uint8_t *out)
{
	struct cursor_out o = { out };

	cursor_put_u8(&o, n->what);
	cursor_put_u32(&o, n->pid);
	if (n->what == NOTE_ENDED) {
		frame_exit_encode(o.at, &n->use);
		o.at += FRAME_EXIT_SIZE;
	} else if (n->what == NOTE_STAYS) {
		cursor_put_u32(&o, n->reason);
		cursor_put_string(&o, n->text);
	} else if (n->what == NOTE_DIFFERS) {
		cursor_put_string(&o, n->text);
	}
	put_times(&o, n);
	return o.at - out;
}

int note_decode(struct note *n, const uint8_t *in, size_t length)
{
	struct cursor c = cursor_of(in, length);
	const uint8_t *use;

	memset(n, 0, sizeof(*n));
	n->what = cursor_u8(&c);
	n->pid = cursor_u32(&c);
	if (n->what == NOTE_ENDED) {
		use = cursor_bytes(&c, FRAME_EXIT_SIZE);
		if (use && frame_exit_decode(&n->use, use, FRAME_EXIT_SIZE))
			cursor_fail(&c);
	} else if (n->what == NOTE_STAYS) {
		n->reason = cursor_u32(&c);
		get_text(&c, n->text, sizeof(n->text));
	} else if (n->what == NOTE_DIFFERS) {
		get_text(&c, n->text, sizeof(n->text));
	}
	if (!n->what || n->what >= NOTE_WHATS)
		cursor_fail(&c);
	get_times(&c, n);
	return decoded(&c);
}

size_t kept_encode(const struct kept *k, uint8_t *out)
{
	struct cursor_out o = { out };

	cursor_put_u8(&o, k->executor);
	cursor_put_u8(&o, k->known);
	cursor_put_u32(&o, k->uid);
	cursor_put_u32(&o, k->number);
	cursor_put_string(&o, k->token);
	cursor_put_string(&o, k->other);
	return o.at - out;
}

int kept_decode(struct kept *k, const uint8_t *in, size_t length)
{
	struct cursor c = cursor_of(in, length);

	memset(k, 0, sizeof(*k));
	k->executor = cursor_bool(&c);
	k->known = cursor_bool(&c);
	k->uid = cursor_u32(&c);
	k->number = cursor_u32(&c);
	get_text(&c, k->token, sizeof(k->token));
	get_text(&c, k->other, sizeof(k->other));
	return decoded(&c);
}
