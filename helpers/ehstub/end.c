// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is said to the other end of the job, and heard of it. When the connection breaks after GO, the
 * task runs on, and the agent is looked for again until the time limit.
 */
#include "end.h"

#include <errno.h>
#include <string.h>

#include "exit.h"
#include "fallback.h"
#include "helpers/end/calls.h"
#include "opened.h"
#include "stub.h"
#include "wire/clean.h"

#define END_LATE_MS 250 /* a task that may be run again: from the end of its output to its own */
#define END_LIMIT_MS 60000 /* until the agent says another one */
/* With `ehctl exec` a user waits, and the executor first reads all of a large program. An agent that
 * is stopped or stuck must not hold an exec forever. */
#define STUB_ANSWER_MS 10000
#define STUB_EXPLICIT_MS 120000

/* ---- what the other end says ---- */

static void end_on_started(struct stub *s, const struct job_message *m)
{
	s->session.note.pid = s->session.who.pid = m->pid;
	s->session.note.started_us = calls_us();
	session_note(&s->session, NOTE_STARTED);
	opened_begin(s);
	terminal_open(&s->tty);
}

static int end_on_data(struct stub *s, const struct job_message *m)
{
	struct sink *k = opened_sink(s, m->channel);

	if (!k)
		return -EPROTO;
	if (m->channel == JOB_CHANNEL_TERMINAL)
		terminal_show(&s->tty, m->data.bytes, m->data.length);
	else
		sink_put(k, m->data.bytes, m->data.length);
	return 0;
}

static void end_on_refused(struct stub *s, const struct job_message *m)
{
	char said[JOB_TEXT_MAX + 1], text[sizeof(said)];

	memcpy(said, m->refused.text, m->refused.length);
	said[m->refused.length] = '\0';
	/* Another node's words: home's agent passes them on as they come. */
	clean_text(text, sizeof(text), said);
	s->session.note.reason = m->refused.reason;
	clean_text(s->session.note.text, NOTE_TEXT, text);
	session_note(&s->session, NOTE_STAYS);
	session_flush(&s->session, 0);
	fallback_refused(s, m->refused.reason, m->refused.error, text);
}

static void end_on_end(struct stub *s, struct sink *k, bool shut)
{
	struct sink *errors = &s->sinks[1];
	int64_t at = 0;

	/* Unread input must go back to a terminal, after the task has closed it, too. */
	if (k->channel == JOB_CHANNEL_TERMINAL)
		return;
	/* A task that is killed closes all just before its end is told. */
	if (s->again)
		at = SESSION_NEVER;
	else if (s->retry && s->phase == PHASE_RUNS)
		at = calls_now() + END_LATE_MS;
	sink_end(k, shut, at);
	/* One open file, and over there one pipe. */
	if (k->channel == 1 && s->flags & JOB_MERGED && !errors->end)
		sink_end(errors, shut, at);
}

static int end_on_channel(struct stub *s, const struct job_message *m)
{
	struct source *from = opened_source(s, m->channel);
	struct sink *k = opened_sink(s, m->channel);

	switch (m->what) {
	case JOB_DATA:
		return end_on_data(s, m);
	case JOB_END:
		if (!k)
			return -EPROTO;
		end_on_end(s, k, m->shut);
		return 0;
	case JOB_CLOSED:
		if (from && m->shut)
			source_shut(from);
		if (from)
			source_close(from);
		return 0;
	case JOB_READ:
		if (from)
			source_read(from, m->total);
		else if (m->channel == JOB_CHANNEL_TERMINAL)
			s->tty.taken = m->total;
		return 0;
	case JOB_OPENED:
	case JOB_SEEK:
	case JOB_LOCK:
		return opened_on_message(s, m);
	case JOB_TERMINAL:
		if (s->tty.fd < 0)
			return -EPROTO;
		terminal_change(&s->tty, m);
		return 0;
	default:
		return 0; /* the machine has counted it */
	}
}

static int end_on_message(void *ctx, const struct job_message *m)
{
	struct stub *s = ctx;

	switch (m->what) {
	case JOB_READY:
		s->ready = true;
		s->session.note.ready_us = calls_us();
		return 0;
	case JOB_STARTED:
		end_on_started(s, m);
		return 0;
	case JOB_REFUSED:
		end_on_refused(s, m);
		return 0;
	case JOB_STOPPED:
		/* It was said before SIGCONT came there, which ends this stop: nobody would end ours. */
		if (s->session.end.link.tail_number <= s->cont_number)
			return 0;
		s->stop = m->signal;
		session_note(&s->session, NOTE_STOPPED);
		return 0;
	case JOB_CONTINUED:
		s->stop = 0;
		session_note(&s->session, NOTE_CONTINUED);
		return 0;
	case JOB_EXIT:
		exit_begin(s, m);
		return 0;
	case JOB_OVER:
		s->over = true;
		return 0;
	default:
		return end_on_channel(s, m);
	}
}

static void end_on_lost(void *ctx, enum job_state before)
{
	struct stub *s = ctx;

	/* The task has ended before: only output of its children is lost. */
	if (before == JOB_ENDED) {
		s->over = s->cut = true;
		return;
	}
	s->before = before;
	s->lost = true;
	if (s->loss == LOSS_NONE)
		s->loss = LOSS_PROTOCOL;
}

static void end_on_attached(void *ctx)
{
	struct stub *s = ctx;

	s->retry |= s->session.attached.retry;
	s->session.who.started_ms = s->session.attached.started_ms;
	/* It may not have come to the agent before this one. */
	if (s->phase == PHASE_STAYS && !s->noted)
		session_note(&s->session, NOTE_ENDED);
	/* An end that is connected may take any time to execute the program. */
	if (s->session.end.state == JOB_COMMITTED)
		s->session.end.deadline = SESSION_NEVER;
}

static int end_on_frame(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length)
{
	struct stub *s = ctx;

	switch (type) {
	case FRAME_GONE:
		s->session.routed = true;
		s->loss = LOSS_GONE;
		job_end_gone(&s->session.end);
		return 0;
	case FRAME_NOTED:
		s->noted = s->session.who.over = true;
		s->starved = length == 4 && frame_get_u32(payload);
		return 0;
	case FRAME_REFUSED:
		if (s->phase != PHASE_ASKS)
			return -EPROTO;
		fallback_refused(s, length < 8 ? 0 : frame_get_u32(payload), 0,
				 length < 8 ? "" : (const char *)payload + 8);
	default:
		return -EPROTO;
	}
}

static const struct session_ops end_ops = {
	.end = { end_on_message, end_on_lost },
	.attached = end_on_attached,
	.frame = end_on_frame,
};

void end_open(struct stub *s)
{
	const int64_t start = s->token[0] == '@' ? STUB_EXPLICIT_MS : STUB_ANSWER_MS;

	session_init(&s->session, JOB_HOME, s->memory, start, END_LIMIT_MS, &end_ops, s);
	session_name(&s->session, s->path);
	job_end_channels(&s->session.end, JOB_CHANNEL_FILES + s->opens.nfiles);
}
