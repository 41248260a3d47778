// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The connection to the agent, and through it to the other end of the job: what is said and heard.
 * When it breaks after GO, the task runs on, and the agent is looked for again until the time limit.
 */
#include "stub.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "helpers/end/spare.h"
#include "wire/clean.h"

#define END_LIMIT_MS 60000 /* until the agent says another one */
/* With `ehctl exec` a user waits, and the executor first reads all of a large program. An agent that
 * is stopped or stuck must not hold an exec forever. */
#define STUB_ANSWER_MS 10000
#define STUB_EXPLICIT_MS 120000

/* ---- what the other end says ---- */

static void end_on_started(struct stub *s, const struct job_message *m)
{
	s->pid = m->pid;
	end_note(s, NOTE_STARTED);
	source_open(s);
	sink_open(s);
	opens_begin(s);
	terminal_open(s);
}

static int end_on_data(struct stub *s, const struct job_message *m)
{
	struct sink *k = sink_of(s, m->channel);

	if (!k)
		return -EPROTO;
	if (m->channel == JOB_CHANNEL_TERMINAL)
		terminal_show(s, m->data.bytes, m->data.length);
	else
		sink_put(s, k, m->data.bytes, m->data.length);
	return 0;
}

static void end_on_refused(struct stub *s, const struct job_message *m)
{
	char said[JOB_TEXT_MAX + 1], text[sizeof(said)];

	memcpy(said, m->refused.text, m->refused.length);
	said[m->refused.length] = '\0';
	/* Another node's words: home's agent passes them on as they come. */
	clean_text(text, sizeof(text), said);
	s->why = m->refused.reason;
	s->why_text = text;
	end_note(s, NOTE_STAYS);
	end_flush(s, 0);
	refused(s, m->refused.reason, m->refused.error, text);
}

static int end_on_channel(struct stub *s, const struct job_message *m)
{
	struct source *from = source_of(s, m->channel);
	struct sink *k = sink_of(s, m->channel);

	switch (m->what) {
	case JOB_DATA:
		return end_on_data(s, m);
	case JOB_END:
		if (!k)
			return -EPROTO;
		sink_end(s, k, m->shut);
		return 0;
	case JOB_CLOSED:
		if (from && m->shut)
			source_shut(from);
		if (from)
			source_close(s, from);
		return 0;
	case JOB_READ:
		if (from)
			source_read(s, from, m->total);
		else if (m->channel == JOB_CHANNEL_TERMINAL)
			s->tty.taken = m->total;
		return 0;
	case JOB_OPENED:
	case JOB_SEEK:
	case JOB_LOCK:
		return opens_on_message(s, m);
	case JOB_TERMINAL:
		if (s->tty.fd < 0)
			return -EPROTO;
		terminal_change(s, m);
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
		return 0;
	case JOB_STARTED:
		end_on_started(s, m);
		return 0;
	case JOB_REFUSED:
		end_on_refused(s, m);
		return 0;
	case JOB_STOPPED:
		/* It was said before SIGCONT came there, which ends this stop: nobody would end ours. */
		if (s->end.link.tail_number <= s->cont_number)
			return 0;
		s->stop = m->signal;
		end_note(s, NOTE_STOPPED);
		return 0;
	case JOB_CONTINUED:
		s->stop = 0;
		end_note(s, NOTE_CONTINUED);
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

static const struct job_end_ops end_ops = { end_on_message, end_on_lost };

int end_open(struct stub *s, int64_t now)
{
	const int64_t start = s->token[0] == '@' ? STUB_EXPLICIT_MS : STUB_ANSWER_MS;

	s->memory =
		mmap(NULL, JOB_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->memory == MAP_FAILED)
		return -ENOMEM;
	job_end_init(&s->end, JOB_HOME, s->memory, now, start, END_LIMIT_MS, &end_ops, s);
	job_end_channels(&s->end, JOB_CHANNEL_FILES + s->opens.nfiles);
	return 0;
}

/* ---- what is said ---- */

bool end_say(struct stub *s, const struct job_message *m)
{
	/* What may not be said any more is of no use any more. */
	return job_end_say(&s->end, m) != -EAGAIN;
}

void end_note(struct stub *s, enum note_what what)
{
	if (what == NOTE_STOPPED || what == NOTE_CONTINUED)
		s->notes &= ~(1u << NOTE_STOPPED | 1u << NOTE_CONTINUED);
	s->notes |= 1u << what;
}

static void end_put_notes(struct stub *s)
{
	struct note note = { .pid = s->pid, .use = s->use, .reason = s->why };
	uint8_t payload[ATTACH_SIZE];

	for (size_t i = 0; s->why_text && s->why_text[i] && i < NOTE_TEXT - 1; i++)
		note.text[i] = s->why_text[i];
	for (int what = 0; s->routed && what < NOTE_WHATS; what++) {
		if (!(s->notes >> what & 1))
			continue;
		note.what = what;
		if (!hop_put(&s->hop, FRAME_NOTE, payload, note_encode(&note, payload)))
			return;
		s->notes &= ~(1u << what);
	}
}

void end_spare(struct stub *s, int64_t now)
{
	if (now < s->spare_at)
		return;
	s->spare_at = STUB_NEVER;
	spare_link(&s->end.link);
	hop_spare(&s->hop);
	sink_spare(s);
}

/* ---- the connection ---- */

static void end_cut(struct stub *s)
{
	int64_t now = calls_now();

	hop_close(&s->hop);
	s->routed = false;
	if (s->phase == PHASE_ASKS)
		give_up(s, "agent of this node", ECONNRESET);
	job_end_detach(&s->end, now);
	hop_pause(&s->hop, now);
}

void end_write(struct stub *s)
{
	if (s->hop.socket < 0)
		return;
	end_put_notes(s);
	if (hop_write(&s->hop, &s->end) == -EPIPE)
		end_cut(s);
}

void end_flush(struct stub *s, int ms)
{
	struct pollfd p = { .events = POLLOUT };
	int64_t until = calls_now() + ms, left = ms;

	do {
		end_write(s);
		p.fd = s->hop.socket;
		/* An agent that has not answered is told nothing. */
		if (p.fd < 0 || ((!s->notes || !s->routed) && s->hop.from == s->hop.to))
			return;
		poll(&p, 1, left);
		left = until - calls_now();
	} while (left > 0);
}

void end_connect(struct stub *s, int64_t now)
{
	struct attach a = { .pid = s->pid, .started_ms = s->attached.started_ms };
	const char *name = strrchr(s->path, '/');

	if (now < s->hop.retry_at)
		return;
	name = name && name[1] ? name + 1 : s->path;
	memcpy(a.command, name, strnlen(name, sizeof(a.command) - 1));
	if (hop_attach(&s->hop, &a, &s->attached))
		hop_pause(&s->hop, now);
}

static int end_on_attached(struct stub *s, const uint8_t *payload, uint32_t length)
{
	struct attached a;

	if (attached_decode(&a, payload, length))
		return -EPROTO;
	if (s->known && strcmp(a.token, s->attached.token))
		return -EPROTO;
	s->retry |= a.retry;
	s->attached = a;
	s->known = s->routed = true;
	s->hop.pause_ms = 0;
	s->end.limit_ms = a.limit_ms;
	job_end_attach(&s->end);
	/* Whoever is connected may take his time to execute the program. */
	if (s->end.state == JOB_COMMITTED)
		s->end.deadline = STUB_NEVER;
	return 0;
}

static int end_on_frame(struct stub *s, enum frame_type type, const uint8_t *payload,
			uint32_t length)
{
	switch (type) {
	case FRAME_LINK:
		job_end_take(&s->end, payload, length);
		return 0; /* an error is a loss */
	case FRAME_ATTACHED:
		return end_on_attached(s, payload, length);
	case FRAME_DETACHED:
		s->routed = true;
		if (s->phase == PHASE_ASKS)
			give_up(s, "agent of this node", ECONNRESET);
		job_end_detach(&s->end, calls_now());
		return 0;
	case FRAME_GONE:
		s->routed = true;
		s->loss = LOSS_GONE;
		job_end_gone(&s->end);
		return 0;
	case FRAME_NOTED:
		s->noted = true;
		s->starved = length == 4 && frame_get_u32(payload);
		return 0;
	case FRAME_REFUSED:
		if (s->phase != PHASE_ASKS)
			return -EPROTO;
		refused(s, length < 8 ? 0 : frame_get_u32(payload), 0,
			length < 8 ? "" : (const char *)payload + 8);
	default:
		return -EPROTO;
	}
}

void end_read(struct stub *s)
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
			ret = end_on_frame(s, type, payload, length);
		if (ret < 0)
			end_cut(s);
	}
}

/* The other end keeps its exit until it is acknowledged. */
void end_settled(struct stub *s, int64_t now)
{
	if (s->hop.socket >= 0 && now < s->until &&
	    (!job_end_done(&s->end) || s->notes || s->hop.from != s->hop.to))
		return;
	s->until = 0;
}
