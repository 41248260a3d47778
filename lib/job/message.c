// SPDX-License-Identifier: GPL-2.0-or-later
#include "job/message.h"

#include <errno.h>
#include <string.h>

#include "wire/cursor.h"

#define JOB_SIGNALS 64

/* ---- out ---- */

static void message_put_signal(const struct job_message *m, struct cursor_out *o)
{
	cursor_put_u8(o, m->sent.signal);
	cursor_put_u8(o, m->sent.reach);
	cursor_put_u8(o, m->sent.queued);
	if (!m->sent.queued)
		return;
	cursor_put_u32(o, m->sent.pid);
	cursor_put_u32(o, m->sent.uid);
	cursor_put_u64(o, m->sent.value);
}

static void message_put(const struct job_message *m, struct cursor_out *o)
{
	switch (m->what) {
	case JOB_STARTED:
		cursor_put_u32(o, m->pid);
		break;
	case JOB_STOPPED:
		cursor_put_u32(o, m->signal);
		break;
	case JOB_REFUSED:
		cursor_put_u32(o, m->refused.reason);
		cursor_put_u32(o, m->refused.error);
		cursor_put_bytes(o, m->refused.text, m->refused.length);
		break;
	case JOB_EXIT:
		frame_exit_encode(o->at, &m->exit.use);
		o->at += FRAME_EXIT_SIZE;
		cursor_put_u8(o, m->exit.more);
		break;
	case JOB_SIGNAL:
		message_put_signal(m, o);
		break;
	case JOB_FOREGROUND:
		cursor_put_u8(o, m->foreground);
		break;
	case JOB_DATA:
		cursor_put_u8(o, m->data.copy);
		cursor_put_bytes(o, m->data.bytes, m->data.length);
		break;
	case JOB_WANT:
	case JOB_READ:
		cursor_put_u64(o, m->total);
		break;
	case JOB_OFFER:
		cursor_put_u8(o, m->ahead);
		break;
	case JOB_SEEK:
		cursor_put_u64(o, m->offset);
		break;
	case JOB_LOCK:
		cursor_put_u8(o, m->exclusive);
		break;
	case JOB_TERMINAL:
		cursor_put_u8(o, m->terminal.flush);
		terminal_encode(o->at, &m->terminal.modes);
		o->at += TERMINAL_SIZE;
		break;
	default:
		break;
	}
}

static bool message_of_channel(uint32_t what)
{
	return (what >= JOB_DATA && what <= JOB_READ) || (what >= JOB_OPENED && what <= JOB_LOCK);
}

size_t job_message_encode(const struct job_message *m, uint8_t *out)
{
	struct cursor_out o = { out };

	if (message_of_channel(m->what))
		cursor_put_u8(&o, m->channel);
	message_put(m, &o);
	return o.at - out;
}

/* ---- in ---- */

static uint32_t message_below(struct cursor *c, uint32_t value, uint32_t limit)
{
	if (value >= limit)
		cursor_fail(c);
	return value;
}

static uint32_t message_signal(struct cursor *c, uint32_t signal)
{
	return message_below(c, signal - 1, JOB_SIGNALS) + 1;
}

static uint64_t message_offset(struct cursor *c)
{
	uint64_t offset = cursor_u64(c);

	if (offset > INT64_MAX)
		cursor_fail(c);
	return offset;
}

/* What is left, at least `least` bytes and at most `most`. */
static const uint8_t *message_rest(struct cursor *c, uint32_t *length, size_t least, size_t most)
{
	*length = cursor_left(c);
	if (*length < least || *length > most)
		cursor_fail(c);
	return cursor_bytes(c, *length);
}

static void message_exit(struct cursor *c, struct job_message *m)
{
	const uint8_t *use = cursor_bytes(c, FRAME_EXIT_SIZE);

	if (use && frame_exit_decode(&m->exit.use, use, FRAME_EXIT_SIZE))
		cursor_fail(c);
	m->exit.more = cursor_bool(c);
}

static void message_terminal(struct cursor *c, struct job_message *m)
{
	const uint8_t *modes;

	m->terminal.flush = cursor_bool(c);
	modes = cursor_bytes(c, TERMINAL_SIZE);
	if (modes && terminal_decode(&m->terminal.modes, modes, TERMINAL_SIZE))
		cursor_fail(c);
}

static void message_sent(struct cursor *c, struct job_message *m)
{
	m->sent.signal = message_signal(c, cursor_u8(c));
	m->sent.reach = message_below(c, cursor_u8(c), JOB_REACHES);
	m->sent.queued = cursor_bool(c);
	if (!m->sent.queued)
		return;
	m->sent.pid = cursor_u32(c);
	m->sent.uid = cursor_u32(c);
	m->sent.value = cursor_u64(c);
}

static void message_get(struct cursor *c, struct job_message *m)
{
	switch (m->what) {
	case JOB_STARTED:
		m->pid = cursor_u32(c);
		break;
	case JOB_STOPPED:
		m->signal = message_signal(c, cursor_u32(c));
		break;
	case JOB_REFUSED:
		m->refused.reason = cursor_u32(c);
		m->refused.error = cursor_u32(c);
		m->refused.text =
			(const char *)message_rest(c, &m->refused.length, 0, JOB_TEXT_MAX);
		break;
	case JOB_EXIT:
		message_exit(c, m);
		break;
	case JOB_SIGNAL:
		message_sent(c, m);
		break;
	case JOB_FOREGROUND:
		m->foreground = cursor_bool(c);
		break;
	case JOB_DATA:
		m->data.copy = cursor_bool(c);
		m->data.bytes = message_rest(c, &m->data.length, 0, JOB_DATA_MAX);
		break;
	case JOB_WANT:
	case JOB_READ:
		m->total = cursor_u64(c);
		break;
	case JOB_OFFER:
		m->ahead = cursor_bool(c);
		break;
	case JOB_SEEK:
		m->offset = message_offset(c);
		break;
	case JOB_LOCK:
		m->exclusive = cursor_bool(c);
		break;
	case JOB_TERMINAL:
		message_terminal(c, m);
		break;
	default:
		break;
	}
}

int job_message_decode(struct job_message *m, uint32_t what, const uint8_t *in, size_t length)
{
	struct cursor c = cursor_of(in, length);

	memset(m, 0, sizeof(*m));
	if (!what || what >= JOB_WHATS)
		return -EBADMSG;
	m->what = what;
	if (message_of_channel(what))
		m->channel = message_below(&c, cursor_u8(&c), JOB_CHANNELS);
	message_get(&c, m);
	return cursor_good(&c) ? 0 : -EBADMSG;
}
