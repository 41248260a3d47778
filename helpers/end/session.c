// SPDX-License-Identifier: GPL-2.0-or-later
#include "helpers/end/session.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "helpers/end/calls.h"
#include "helpers/end/spare.h"

void session_init(struct session *s, enum job_role role, uint8_t *memory, int64_t start_ms,
		  int64_t limit_ms, const struct session_ops *ops, void *ctx)
{
	s->ops = ops;
	s->ctx = ctx;
	s->spare_at = SESSION_NEVER;
	s->who.executor = role == JOB_EXECUTOR;
	/* Where a stub finds its first agent none of an earlier version listens. */
	s->tells = role == JOB_HOME;
	hop_open(&s->hop, -1);
	job_end_init(&s->end, role, memory, calls_now(), start_ms, limit_ms, &ops->end, ctx);
}

void session_open(struct session *s, int socket)
{
	hop_open(&s->hop, socket);
	s->routed = s->blocked = false;
}

void session_name(struct session *s, const char *path)
{
	const char *name = strrchr(path, '/');

	name = name && name[1] ? name + 1 : path;
	memcpy(s->who.command, name, strnlen(name, sizeof(s->who.command) - 1));
}

/* ---- the connection ---- */

static void session_cut(struct session *s)
{
	const int64_t now = calls_now();

	hop_close(&s->hop);
	s->routed = s->blocked = false;
	job_end_detach(&s->end, now);
	hop_pause(&s->hop, now);
}

bool session_again(struct session *s)
{
	const int64_t now = calls_now();

	if (!s->known || s->hop.socket >= 0 || now < s->hop.retry_at)
		return false;
	if (hop_attach(&s->hop, &s->who, &s->attached)) {
		hop_pause(&s->hop, now);
		return false;
	}
	s->tells = !s->hop.earlier;
	return true;
}

/* ---- in ---- */

static int session_on_attached(struct session *s, const uint8_t *payload, uint32_t length)
{
	struct attached a;

	if (attached_decode(&a, payload, length) ||
	    (s->known && strcmp(a.token, s->attached.token)))
		return -EPROTO;
	s->attached = a;
	s->end.limit_ms = a.limit_ms;
	s->hop.pause_ms = 0;
	job_end_attach(&s->end);
	s->ops->attached(s->ctx);
	s->known = true;
	return 0;
}

static int session_on_frame(struct session *s, enum frame_type type, const uint8_t *payload,
			    uint32_t length)
{
	switch (type) {
	case FRAME_LINK:
		job_end_take(&s->end, payload, length);
		return 0; /* an error is a loss */
	case FRAME_ATTACHED:
		s->routed = true;
		return session_on_attached(s, payload, length);
	case FRAME_DETACHED:
		s->routed = true;
		job_end_detach(&s->end, calls_now());
		return 0;
	default:
		return s->ops->frame(s->ctx, type, payload, length);
	}
}

void session_read(struct session *s)
{
	const uint8_t *payload;
	enum frame_type type;
	uint32_t length;
	int ret;

	s->spare_at = calls_now() + SPARE_MS;
	while (s->hop.socket >= 0) {
		ret = hop_read(&s->hop, &type, &payload, &length);
		if (!ret)
			return;
		if (ret > 0)
			ret = session_on_frame(s, type, payload, length);
		if (ret < 0)
			session_cut(s);
	}
}

/* ---- out ---- */

void session_note(struct session *s, enum note_what what)
{
	if (what == NOTE_STOPPED || what == NOTE_CONTINUED)
		s->notes &= ~(1u << NOTE_STOPPED | 1u << NOTE_CONTINUED);
	s->notes |= 1u << what;
}

/* Home's agent knows of a job when it has answered; the executor's has started this end. */
static bool session_tells(const struct session *s)
{
	return s->notes && (s->routed || s->end.role == JOB_EXECUTOR);
}

static void session_put_notes(struct session *s)
{
	uint8_t payload[ATTACH_SIZE];

	for (int what = 0; session_tells(s) && what < NOTE_WHATS; what++) {
		if (!(s->notes >> what & 1))
			continue;
		s->note.what = what;
		s->note.timed = s->tells;
		if (!hop_put(&s->hop, FRAME_NOTE, payload, note_encode(&s->note, payload)))
			return;
		s->notes &= ~(1u << what);
	}
}

void session_write(struct session *s)
{
	int ret = 0;

	do {
		if (s->hop.socket < 0)
			return;
		session_put_notes(s);
		ret = hop_write(&s->hop, &s->end);
	} while (!ret && session_tells(s));
	s->blocked = ret == -EAGAIN;
	if (ret == -EPIPE)
		session_cut(s);
}

bool session_say(struct session *s, const struct job_message *m)
{
	return job_end_say(&s->end, m) != -EAGAIN;
}

bool session_can_say(const struct session *s)
{
	/* Data leave this much. */
	return job_link_room(&s->end.link) >= 4 * (JOB_TEXT_MAX + FRAME_EXIT_SIZE);
}

void session_flush(struct session *s, int ms)
{
	struct pollfd p = { .events = POLLOUT };
	int64_t until = calls_now() + ms, left = ms;

	do {
		session_write(s);
		p.fd = s->hop.socket;
		if (p.fd < 0 || (!session_tells(s) && s->hop.from == s->hop.to))
			return;
		poll(&p, 1, left);
		left = until - calls_now();
	} while (left > 0);
}

/* ---- the clock ---- */

bool session_spare(struct session *s)
{
	if (s->now < s->spare_at)
		return false;
	s->spare_at = SESSION_NEVER;
	spare_link(&s->end.link);
	hop_spare(&s->hop);
	return true;
}

int64_t session_deadline(const struct session *s)
{
	int64_t at = s->end.deadline;

	if (s->known && s->hop.socket < 0 && s->hop.retry_at < at)
		at = s->hop.retry_at;
	return s->spare_at < at ? s->spare_at : at;
}
