// SPDX-License-Identifier: GPL-2.0-or-later
/* What home's end and the agent say. */
#include "connection.h"

#include <errno.h>
#include <string.h>

#include "guest.h"

/* ---- messages of home's end ---- */

static int connection_data(struct guest *g, const struct job_message *m)
{
	struct intake *in = flow_intake(&g->flow, m->channel);

	if (tokens_has(&g->flow.tokens, m->channel)) {
		tokens_data(&g->flow.tokens, m->data.bytes, m->data.length);
		return 0;
	}
	if (in)
		return intake_data(in, m->data.bytes, m->data.length);
	if (m->channel != JOB_CHANNEL_TERMINAL || m->data.copy)
		return -EPROTO;
	pty_type(&g->flow.pty, m->data.bytes, m->data.length);
	return 0;
}

static void connection_closed(struct guest *g, uint32_t channel)
{
	struct outlet *o = flow_outlet(&g->flow, channel);

	/* The program's next write raises SIGPIPE, as at home; or the terminal was hung up. */
	if (channel == JOB_CHANNEL_TERMINAL)
		pty_close(&g->flow.pty);
	else if (o)
		outlet_close(o);
	else if (tokens_has(&g->flow.tokens, channel))
		tokens_over(&g->flow.tokens, channel);
}

static int connection_message(void *ctx, const struct job_message *m)
{
	struct guest *g = ctx;
	struct intake *in = flow_intake(&g->flow, m->channel);

	switch (m->what) {
	case JOB_GO:
		program_go(&g->program);
		break;
	case JOB_SIGNAL:
		program_signal(&g->program, m);
		break;
	case JOB_FOREGROUND:
		pty_foreground(&g->flow.pty, m->foreground, g->program.pid);
		break;
	case JOB_TERMINAL:
		pty_modes(&g->flow.pty, &m->terminal.modes, m->terminal.flush);
		break;
	case JOB_DATA:
		return connection_data(g, m);
	case JOB_END:
		if (in)
			intake_end(in);
		else if (tokens_has(&g->flow.tokens, m->channel))
			tokens_over(&g->flow.tokens, m->channel);
		break;
	case JOB_CLOSED:
		connection_closed(g, m->channel);
		break;
	case JOB_OFFER:
		if (in)
			intake_offer(in, m->ahead);
		else if (tokens_has(&g->flow.tokens, m->channel))
			tokens_offer(&g->flow.tokens);
		else if (m->channel == JOB_CHANNEL_TERMINAL)
			pty_offer(&g->flow.pty);
		break;
	default:
		break; /* credit is job_end's; after JOB_NONE there is another offer some time */
	}
	return 0;
}

/* The loop sees it, kills and ends. */
static void connection_lost(void *ctx, enum job_state before)
{
}

/* ---- frames of the agent ---- */

/* The start has its time from here on. */
static void connection_attached(void *ctx)
{
	struct guest *g = ctx;
	struct job_end *e = &g->session.end;

	if (g->session.known)
		return;
	e->start_ms = e->limit_ms;
	e->deadline = g->session.now + e->start_ms;
}

static int connection_frame(void *ctx, enum frame_type type, const uint8_t *payload,
			    uint32_t length)
{
	struct guest *g = ctx;

	if (!g->session.known)
		return -EPROTO;
	switch (type) {
	case FRAME_PAUSED:
		if (length != 4)
			return -EPROTO;
		program_pause(&g->program, frame_get_u32(payload));
		return 0;
	case FRAME_GONE:
		job_end_gone(&g->session.end);
		return 0;
	case FRAME_NOTED:
		g->ending.noted |= g->ending.ended;
		return 0;
	default:
		return -EPROTO;
	}
}

static const struct session_ops connection_ops = {
	.end = { connection_message, connection_lost },
	.attached = connection_attached,
	.frame = connection_frame,
};

void connection_init(struct guest *g)
{
	/* Its agent says when the time begins, and how long it is. */
	session_init(&g->session, JOB_EXECUTOR, g->memory, 0, 0, &connection_ops, g);
	g->session.end.deadline = SESSION_NEVER;
}

/*
 * A stopped task has a stopped stub, which can connect to a new agent only when it goes on. Once
 * all is said, that stub may have gone on and ended, and its acknowledgement may be lost.
 */
static bool connection_stands(const struct guest *g)
{
	return g->session.end.state != JOB_FINISHED && (g->program.stopped || g->program.pause);
}

void connection_set_limit(struct guest *g)
{
	const int64_t limit =
		connection_stands(g) ? ATTACH_STOPPED_MS : g->session.attached.limit_ms;

	if (g->session.known && g->session.end.limit_ms != limit)
		job_end_set_limit(&g->session.end, g->session.now, limit);
}

void connection_again(struct guest *g)
{
	g->session.who.stopped = connection_stands(g);
	if (!session_again(&g->session))
		return;
	if (g->program.stopped && !g->ending.ended)
		session_note(&g->session, NOTE_STOPPED);
	/* Also if an earlier agent has taken note: this one would list it as about to start. */
	if (g->ending.ended)
		session_note(&g->session, NOTE_ENDED);
}
