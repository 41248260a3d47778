// SPDX-License-Identifier: GPL-2.0-or-later
/* One end of a job against anything that comes: it stays within its memory and credit, starts the program once at most, and only goes forward. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "job/end.h"
#include "link_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FRAME (FRAME_HEADER + LINK_HEADER + JOB_MESSAGE_MAX)
#define GUARD 64

struct seen {
	struct job_end e;
	uint64_t in[JOB_CHANNELS];
	unsigned int go, started, ended, lost;
	bool refuse;
};

static int on_message(void *ctx, const struct job_message *m)
{
	struct seen *s = ctx;

	must(m->what > 0 && m->what < JOB_WHATS && m->channel < JOB_CHANNELS);
	must(!s->lost && s->e.state != JOB_LOST);
	s->go += m->what == JOB_GO;
	s->started += m->what == JOB_STARTED;
	s->ended += m->what == JOB_EXIT;
	must(s->go <= 1 && s->started <= 1 && s->ended <= 1);
	/* never more than a window that the program or the sink has not asked for */
	if (m->what == JOB_DATA) {
		s->in[m->channel] += m->data.length ? m->data.length : 1;
		must(m->data.length <= JOB_DATA_MAX &&
		     s->in[m->channel] == s->e.channels[m->channel].got);
	}
	return s->refuse ? -EPROTO : 0;
}

static void on_lost(void *ctx, enum job_state before)
{
	struct seen *s = ctx;

	must(!s->lost && s->e.state == JOB_LOST && before < JOB_FINISHED);
	s->lost++;
}

static const struct job_end_ops ops = { on_message, on_lost };

static void take(struct input *in, struct seen *s, bool raw)
{
	uint8_t bytes[LINK_HEADER + JOB_MESSAGE_MAX], *exact;
	enum job_state before = s->e.state;
	size_t n;
	int ret;

	if (raw) {
		n = input_byte(in);
		for (size_t i = 0; i < n; i++)
			bytes[i] = input_byte(in);
	} else {
		n = link_input(in, &s->e, LINK_PLAIN, bytes);
	}
	/* in memory of just this size */
	exact = malloc(n + !n);
	if (!exact)
		return;
	memcpy(exact, bytes, n);
	ret = job_end_take(&s->e, exact, n);
	free(exact);
	must(!ret || ret == -EPROTO);
	must(!ret || s->e.state == JOB_LOST);
	must(before != JOB_LOST || !ret);
}

static void say(struct input *in, struct seen *s)
{
	struct job_message m = { .what = 1 + input_byte(in) % (JOB_WHATS - 1),
				 .channel = input_byte(in) & 7 };
	enum job_state before = s->e.state;
	int err;

	if (m.what == JOB_STOPPED)
		m.signal = 19;
	if (m.what == JOB_SIGNAL)
		m.sent.signal = 15;
	if (m.what == JOB_EXIT)
		m.exit.more = input_byte(in) & 1;
	if (m.what == JOB_OFFER)
		m.ahead = input_byte(in) & 1;
	err = job_end_say(&s->e, &m);
	must(!err || err == -EAGAIN || err == -EPROTO || err == -EPIPE);
	must(!err || s->e.state == before);
	must((err == -EPIPE) == (before == JOB_LOST));
}

static void send_data(struct input *in, struct seen *s)
{
	static const uint8_t bytes[JOB_DATA_MAX];
	uint32_t channel = input_byte(in) & 7;
	size_t room = job_end_room(&s->e, channel), n = input_number(in);
	uint64_t before = s->e.channels[channel].sent;

	must(room <= JOB_DATA_MAX);
	if (!room)
		return;
	n = n < room ? n : room;
	job_end_send(&s->e, channel, bytes, n,
		     s->e.role == JOB_HOME && s->e.channels[channel].ahead);
	must(s->e.channels[channel].sent == before + (n ? n : 1));
}

static void send_out(struct input *in, struct seen *s)
{
	size_t room = input_byte(in) & 1 ? FRAME : input_byte(in), n;
	uint8_t *out = malloc(room + !room);
	enum frame_type type;
	uint32_t length;

	if (!out)
		return;
	n = job_end_next(&s->e, out, room);
	must(n <= room);
	must(!n || (s->e.link.attached && s->e.state != JOB_LOST));
	if (n) {
		must(!frame_parse(out, &type, &length) && type == FRAME_LINK);
		must(length + FRAME_HEADER == n && frame_get_u64(out + FRAME_HEADER + 8) >= 1);
	}
	free(out);
}

static void check(const struct seen *s, const uint8_t *memory)
{
	const struct job_link *l = &s->e.link;

	must(l->tail <= l->next && l->next <= l->head && l->head - l->tail <= JOB_MEMORY);
	must(l->tail_number <= l->next_number && l->next_number <= l->head_number);
	must(l->next_number <= l->sent && l->sent <= l->head_number && l->told <= l->expected);
	for (int i = 0; i < JOB_CHANNELS; i++) {
		const struct job_channel *c = &s->e.channels[i];

		must(c->sent <= c->may && c->may - c->sent <= JOB_WINDOW);
		must(c->got <= c->told && c->told <= c->granted &&
		     c->granted - c->got <= JOB_WINDOW);
	}
	for (int i = 0; i < GUARD; i++)
		must(memory[i] == 0xa5 && memory[GUARD + JOB_MEMORY + i] == 0xa5);
	must(s->e.state != JOB_LOST || job_end_done(&s->e));
	must(s->e.role == JOB_EXECUTOR || !s->go);
	must(s->go <= (s->e.state >= JOB_COMMITTED));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t memory[JOB_MEMORY + 2 * GUARD];
	struct input in = { data, size };
	struct seen s = { 0 };
	enum job_state state;
	int64_t now = 0;

	memset(memory, 0xa5, GUARD);
	memset(memory + GUARD + JOB_MEMORY, 0xa5, GUARD);
	job_end_init(&s.e, input_byte(&in) & 1 ? JOB_HOME : JOB_EXECUTOR, memory + GUARD, now, 100,
		     1000, &ops, &s);
	/* some have two channels more, and none has the last ones */
	if (size & 1)
		job_end_channels(&s.e, JOB_CHANNELS_USUAL + 2);
	while (in.left) {
		uint8_t what = input_byte(&in);
		uint32_t channel;

		state = s.e.state;
		s.refuse = what == 255;
		switch (what % 16) {
		case 0:
			job_end_attach(&s.e);
			break;
		case 1:
			job_end_detach(&s.e, now);
			break;
		case 2:
			if (what == 2)
				job_end_gone(&s.e);
			break;
		case 3:
			now += input_byte(&in);
			if (now >= s.e.deadline)
				job_end_tick(&s.e, now);
			must(s.e.deadline > now);
			break;
		case 4:
			take(&in, &s, true);
			break;
		case 5:
		case 6:
			say(&in, &s);
			break;
		case 7:
			send_data(&in, &s);
			break;
		case 8:
			job_end_grant(&s.e, input_byte(&in) & 7, input_number(&in));
			break;
		case 9:
			channel = input_byte(&in) & 7;
			if (s.e.role == JOB_EXECUTOR &&
			    s.e.channels[channel].read < s.e.channels[channel].got)
				job_end_read(&s.e, channel, s.e.channels[channel].read + 1);
			break;
		case 10:
		case 11:
			send_out(&in, &s);
			break;
		default:
			take(&in, &s, false);
		}
		must(s.e.state >= state);
		check(&s, memory);
	}
	return 0;
}
