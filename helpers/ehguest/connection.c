// SPDX-License-Identifier: GPL-2.0-or-later
/* The connection to the agent, which may break and be replaced, and what comes on it. */

#include <errno.h>
#include <string.h>

#include "guest.h"

/* ---- messages of home's end ---- */

static int connection_data(struct guest *g, const struct job_message *m)
{
	struct intake *in = intake_of(g, m->channel);

	if (tokens_has(g, m->channel)) {
		tokens_data(g, m->data.bytes, m->data.length);
		return 0;
	}
	if (in)
		return intake_data(g, in, m->data.bytes, m->data.length);
	if (m->channel != JOB_CHANNEL_TERMINAL || m->data.copy)
		return -EPROTO;
	typed_take(g, m->data.bytes, m->data.length);
	return 0;
}

static void connection_closed(struct guest *g, uint32_t channel)
{
	struct outlet *o = outlet_of(g, channel);

	/* The program's next write raises SIGPIPE, as at home; or the terminal was hung up. */
	if (channel == JOB_CHANNEL_TERMINAL)
		pty_close(g);
	else if (o)
		outlet_close(o);
	else if (tokens_has(g, channel))
		tokens_over(g, channel);
}

static int connection_message(void *ctx, const struct job_message *m)
{
	struct guest *g = ctx;
	struct intake *in = intake_of(g, m->channel);

	switch (m->what) {
	case JOB_GO:
		program_go(g);
		break;
	case JOB_SIGNAL:
		program_signal(g, m);
		break;
	case JOB_FOREGROUND:
		pty_foreground(g, m->foreground);
		break;
	case JOB_TERMINAL:
		pty_modes(g, &m->terminal.modes, m->terminal.flush);
		break;
	case JOB_DATA:
		return connection_data(g, m);
	case JOB_END:
		if (in)
			intake_end(g, in);
		else if (tokens_has(g, m->channel))
			tokens_over(g, m->channel);
		break;
	case JOB_CLOSED:
		connection_closed(g, m->channel);
		break;
	case JOB_OFFER:
		if (in)
			intake_offer(g, in, m->ahead);
		else if (tokens_has(g, m->channel))
			tokens_offer(g);
		else if (m->channel == JOB_CHANNEL_TERMINAL)
			typed_offer(g);
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

const struct job_end_ops connection_ops = {
	.message = connection_message,
	.lost = connection_lost,
};

/* ---- frames of the agent ---- */

static int connection_attached(struct guest *g, const uint8_t *payload, uint32_t length)
{
	struct attached attached;

	if (attached_decode(&attached, payload, length))
		return -EPROTO;
	g->attached = attached;
	if (!g->begun) {
		job_end_init(&g->end, JOB_EXECUTOR, g->memory, g->now, attached.limit_ms,
			     attached.limit_ms, &connection_ops, g);
		job_end_channels(&g->end, g->channels);
	}
	g->begun = true;
	g->hop.pause_ms = 0;
	job_end_attach(&g->end);
	return 0;
}

static int connection_frame(struct guest *g, enum frame_type type, const uint8_t *payload,
			    uint32_t length)
{
	if (type == FRAME_ATTACHED)
		return connection_attached(g, payload, length);
	if (!g->begun)
		return -EPROTO;
	switch (type) {
	case FRAME_LINK:
		return job_end_take(&g->end, payload, length);
	case FRAME_DETACHED:
		job_end_detach(&g->end, g->now);
		return 0;
	case FRAME_PAUSED:
		if (length != 4)
			return -EPROTO;
		program_pause(g, frame_get_u32(payload));
		return 0;
	case FRAME_GONE:
		job_end_gone(&g->end);
		return 0;
	case FRAME_NOTED:
		g->noted |= g->ended;
		return 0;
	default:
		return -EPROTO;
	}
}

static void connection_broken(struct guest *g)
{
	hop_close(&g->hop);
	g->blocked = false;
	g->nnotes = 0;
	if (!g->begun)
		return;
	job_end_detach(&g->end, g->now);
	hop_pause(&g->hop, g->now);
}

void connection_read(struct guest *g)
{
	const uint8_t *payload;
	enum frame_type type;
	uint32_t length;

	while (g->hop.socket >= 0) {
		int ret = hop_read(&g->hop, &type, &payload, &length);

		if (ret > 0)
			ret = connection_frame(g, type, payload, length);
		else if (!ret)
			return;
		if (ret < 0)
			connection_broken(g);
	}
}

static void connection_put_notes(struct guest *g)
{
	uint8_t payload[ATTACH_SIZE];
	unsigned int done = 0;

	for (; done < g->nnotes; done++) {
		const struct note n = { .what = g->notes[done],
					.pid = g->program.pid > 0 ? guest_shown(g) : 0,
					.use = g->use };

		if (!hop_put(&g->hop, FRAME_NOTE, payload, note_encode(&n, payload)))
			break;
	}
	g->nnotes -= done;
	memmove(g->notes, g->notes + done, g->nnotes * sizeof(*g->notes));
}

void connection_note(struct guest *g, enum note_what what)
{
	/* Without an agent nobody keeps records. A new one learns of the program by FRAME_ATTACH. */
	if (g->hop.socket < 0)
		return;
	/* It does not read: only the last ones matter. */
	if (g->nnotes == sizeof(g->notes) / sizeof(*g->notes))
		memmove(g->notes, g->notes + 1, --g->nnotes * sizeof(*g->notes));
	g->notes[g->nnotes++] = what;
}

void connection_write(struct guest *g)
{
	int ret;

	do {
		if (g->hop.socket < 0)
			return;
		connection_put_notes(g);
		ret = hop_write(&g->hop, g->begun ? &g->end : NULL);
		if (ret == -EPIPE)
			connection_broken(g);
	} while (!ret && g->nnotes);
	g->blocked = ret == -EAGAIN;
}

void connection_tick(struct guest *g)
{
	struct attach a = { .executor = true,
			    .stopped = guest_stands(g),
			    .pid = g->program.pid > 0 && g->end.state >= JOB_RUNNING
					   ? guest_shown(g)
					   : 0,
			    .started_ms = g->started_ms };

	if (!g->begun || g->hop.socket >= 0 || g->now < g->hop.retry_at)
		return;
	memcpy(a.command, g->command, sizeof(a.command));
	if (hop_attach(&g->hop, &a, &g->attached)) {
		connection_broken(g);
		return;
	}
	if (g->program.stopped && !g->ended)
		connection_note(g, NOTE_STOPPED);
	/* Also if an earlier agent has taken note: this one would list it as about to start. */
	if (g->ended)
		connection_note(g, NOTE_ENDED);
}
