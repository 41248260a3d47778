// SPDX-License-Identifier: GPL-2.0-or-later
#include "job/end.h"

#include <errno.h>
#include <string.h>

/* Data leave this much room for messages, so that output never delays a signal or an exit. */
#define END_RESERVE 8192u

#define IN(state) (1u << (state))
#define BEFORE_START (IN(JOB_PREPARING) | IN(JOB_PREPARED) | IN(JOB_COMMITTED))
#define WRITES (IN(JOB_RUNNING) | IN(JOB_ENDED))
#define STARTED_ONCE (WRITES | IN(JOB_FINISHED))
#define SAME JOB_LOST

/*
 * Which end may say what, and when. A message is on the way for a while: meanwhile the executor's end may
 * have gone on to a later state, so it takes it in more states than home says it in. Home's end is
 * in the state that what it has taken tells, so it takes what the executor's end may say in it.
 */
static const struct end_rule {
	unsigned int roles; /* that say it */
	unsigned int say, take; /* states; take: of the executor's end */
	enum job_state then; /* SAME: no change */
} end_rules[JOB_WHATS] = {
	[JOB_READY] = { IN(JOB_EXECUTOR), IN(JOB_PREPARING), 0, JOB_PREPARED },
	[JOB_GO] = { IN(JOB_HOME), IN(JOB_PREPARED), IN(JOB_PREPARED) | IN(JOB_FINISHED),
		     JOB_COMMITTED },
	[JOB_STARTED] = { IN(JOB_EXECUTOR), IN(JOB_COMMITTED), 0, JOB_RUNNING },
	[JOB_REFUSED] = { IN(JOB_EXECUTOR), BEFORE_START, 0, JOB_FINISHED },
	[JOB_STOPPED] = { IN(JOB_EXECUTOR), IN(JOB_RUNNING), 0, SAME },
	[JOB_CONTINUED] = { IN(JOB_EXECUTOR), IN(JOB_RUNNING), 0, SAME },
	[JOB_EXIT] = { IN(JOB_EXECUTOR), IN(JOB_RUNNING), 0, JOB_FINISHED },
	[JOB_OVER] = { IN(JOB_EXECUTOR), IN(JOB_ENDED), 0, JOB_FINISHED },
	[JOB_SIGNAL] = { IN(JOB_HOME), WRITES, STARTED_ONCE, SAME },
	[JOB_FOREGROUND] = { IN(JOB_HOME), WRITES, STARTED_ONCE, SAME },
	[JOB_DATA] = { IN(JOB_HOME) | IN(JOB_EXECUTOR), WRITES, STARTED_ONCE, SAME },
	[JOB_END] = { IN(JOB_HOME) | IN(JOB_EXECUTOR), WRITES, STARTED_ONCE, SAME },
	[JOB_CLOSED] = { IN(JOB_HOME) | IN(JOB_EXECUTOR), WRITES, STARTED_ONCE, SAME },
	[JOB_WANT] = { IN(JOB_HOME) | IN(JOB_EXECUTOR), WRITES, STARTED_ONCE, SAME },
	[JOB_OFFER] = { IN(JOB_HOME), WRITES, STARTED_ONCE, SAME },
	[JOB_NONE] = { IN(JOB_HOME), WRITES, STARTED_ONCE, SAME },
	[JOB_READ] = { IN(JOB_EXECUTOR), WRITES, 0, SAME },
	[JOB_TERMINAL] = { IN(JOB_HOME) | IN(JOB_EXECUTOR), WRITES, STARTED_ONCE, SAME },
	[JOB_OPENED] = { IN(JOB_EXECUTOR), IN(JOB_PREPARING), 0, SAME },
	[JOB_SEEK] = { IN(JOB_EXECUTOR), WRITES, 0, SAME },
	[JOB_LOCK] = { IN(JOB_EXECUTOR), WRITES, 0, SAME },
};

void job_end_init(struct job_end *e, enum job_role role, uint8_t *memory, int64_t now,
		  int64_t start_ms, int64_t limit_ms, const struct job_end_ops *ops, void *ctx)
{
	memset(e, 0, sizeof(*e));
	e->role = role;
	e->ops = ops;
	e->ctx = ctx;
	e->start_ms = start_ms;
	e->limit_ms = limit_ms;
	e->deadline = now + start_ms;
	job_link_init(&e->link, memory, JOB_MEMORY);
	e->nchannels = 1;
	job_end_channels(e, JOB_CHANNELS_USUAL);
}

void job_end_channels(struct job_end *e, uint32_t n)
{
	/* Output flows at once. Input does when the program wants to read it. */
	for (uint32_t i = e->nchannels; i < n; i++) {
		struct job_channel *c = &e->channels[i];

		if (e->role == JOB_EXECUTOR) {
			c->may = JOB_WINDOW;
		} else {
			c->granted = c->told = JOB_WINDOW;
			c->step = JOB_STEP;
		}
	}
	e->nchannels = n;
}

/* ---- states ---- */

void job_end_gone(struct job_end *e)
{
	enum job_state before = e->state;

	if (before == JOB_LOST)
		return;
	e->state = JOB_LOST;
	e->deadline = INT64_MAX;
	/* All that was needed is known: the final acknowledgement was lost on its way. */
	if (before != JOB_FINISHED)
		e->ops->lost(e->ctx, before);
}

static void end_enter(struct job_end *e, const struct job_message *m)
{
	enum job_state then = end_rules[m->what].then;

	if (then == SAME)
		return;
	if (m->what == JOB_EXIT && m->exit.more)
		then = JOB_ENDED;
	e->state = then;
	if (then == JOB_RUNNING && e->link.attached)
		e->deadline = INT64_MAX;
}

/* ---- out ---- */

bool job_end_writes(const struct job_end *e)
{
	return IN(e->state) & WRITES;
}

static bool end_put(struct job_end *e, const struct job_message *m)
{
	uint8_t body[1 + 8 + JOB_TEXT_MAX + FRAME_EXIT_SIZE];

	return job_link_put(&e->link, m->what, body, job_message_encode(m, body));
}

static bool end_tell_read(struct job_end *e, uint32_t channel)
{
	struct job_channel *c = &e->channels[channel];
	const struct job_message m = { .what = JOB_READ, .channel = channel, .total = c->read };

	if (c->read != c->read_told && end_put(e, &m))
		c->read_told = c->read;
	return c->read == c->read_told;
}

/* Totals, so that one message does for many, and none is lost when there is no room. */
static void end_tell_credit(struct job_end *e)
{
	for (uint32_t i = 0; i < e->nchannels; i++) {
		struct job_channel *c = &e->channels[i];
		struct job_message m = { .what = JOB_WANT, .channel = i, .total = c->told };

		if (c->over)
			continue;
		if (c->unsure && e->role == JOB_EXECUTOR && end_put(e, &m)) {
			c->unsure = false;
			c->unsure_told = true;
		}
		m.total = c->granted;
		if (c->granted == c->told || c->granted - c->told < c->step)
			continue;
		if (end_tell_read(e, i) && end_put(e, &m))
			c->told = c->granted;
	}
}

/* Home takes out what was read when it hears of a stop, a close or an end; the rest is for others. */
static bool end_tell_all_read(struct job_end *e)
{
	for (uint32_t i = 0; i < e->nchannels; i++)
		if (!end_tell_read(e, i))
			return false;
	return true;
}

/* What the rules do not say: what was said before, and sizes. */
static bool end_may_say(const struct job_end *e, const struct job_message *m)
{
	const struct job_channel *c = &e->channels[m->channel];

	switch (m->what) {
	case JOB_DATA:
	case JOB_WANT:
	case JOB_READ:
		return false; /* functions of their own count these */
	case JOB_REFUSED:
		return m->refused.length <= JOB_TEXT_MAX;
	case JOB_NONE:
		/* Else it crosses with the next JOB_WANT, which would be void at one end only. */
		return !c->ended && !c->ahead && c->may != c->sent;
	case JOB_END:
		return !c->ended;
	case JOB_OPENED:
	case JOB_SEEK:
	case JOB_LOCK:
		return m->channel >= JOB_CHANNEL_FILES;
	default:
		return true;
	}
}

int job_end_say(struct job_end *e, const struct job_message *m)
{
	const struct end_rule *rule = &end_rules[m->what];
	struct job_channel *c = &e->channels[m->channel];
	struct job_message shut = { .what = JOB_READ, .channel = m->channel };

	if (e->state == JOB_LOST)
		return -EPIPE;
	if (!(rule->roles & IN(e->role)) || !(rule->say & IN(e->state)) ||
	    m->channel >= e->nchannels || !end_may_say(e, m))
		return -EPROTO;
	if ((m->what == JOB_STOPPED || m->what == JOB_CLOSED || m->what == JOB_EXIT ||
	     m->what == JOB_OVER) &&
	    !end_tell_all_read(e))
		return -EAGAIN;
	shut.total = c->read_told;
	if ((m->what == JOB_END || m->what == JOB_CLOSED) && m->shut && !end_put(e, &shut))
		return -EAGAIN;
	if (!end_put(e, m))
		return -EAGAIN;
	if (m->what == JOB_NONE) {
		c->may = c->sent;
		c->unsure = false;
	}
	if (m->what == JOB_END)
		c->ended = true;
	if (m->what == JOB_OFFER && m->ahead)
		c->ahead = true;
	end_enter(e, m);
	return 0;
}

/* An end of file that was typed is empty, and counts as one byte. */
static uint64_t end_bytes(size_t length)
{
	return length ? length : 1;
}

size_t job_end_room(const struct job_end *e, uint32_t channel)
{
	const struct job_channel *c = &e->channels[channel];
	size_t room = job_link_room(&e->link);
	uint64_t credit = c->may - c->sent;

	if (!job_end_writes(e) || c->ended || c->closed || room <= END_RESERVE)
		return 0;
	room -= END_RESERVE;
	if (room > credit)
		room = credit;
	return room < JOB_DATA_MAX ? room : JOB_DATA_MAX;
}

void job_end_send(struct job_end *e, uint32_t channel, const uint8_t *bytes, size_t n, bool copy)
{
	struct job_message m = { .what = JOB_DATA, .channel = channel };
	struct job_channel *c = &e->channels[channel];
	uint8_t body[JOB_MESSAGE_MAX];

	m.data.bytes = bytes;
	m.data.length = n;
	m.data.copy = copy;
	if (!job_link_put(&e->link, JOB_DATA, body, job_message_encode(&m, body)))
		return;
	c->sent += end_bytes(n);
	if (e->role != JOB_HOME || copy)
		return;
	c->may = c->sent; /* this was the answer */
	c->unsure = false;
}

void job_end_grant(struct job_end *e, uint32_t channel, size_t n)
{
	struct job_channel *c = &e->channels[channel];
	uint64_t left = c->got + JOB_WINDOW - c->granted;

	/* A second wish would cross with the answer to the first, which voids it at one end only. */
	if (e->role == JOB_EXECUTOR && !c->ahead && c->told != c->got)
		return;
	c->granted += n < left ? n : left;
}

void job_end_unsure(struct job_end *e, uint32_t channel)
{
	struct job_channel *c = &e->channels[channel];

	c->unsure = !c->ahead && !c->unsure_told;
}

void job_end_read(struct job_end *e, uint32_t channel, uint64_t total)
{
	e->channels[channel].read = total;
}

uint64_t job_end_granted(const struct job_end *e, uint32_t channel)
{
	return e->channels[channel].granted - e->channels[channel].got;
}

/*
 * Copies that are all read: their source may be full of them, so that no more come, though less than
 * a step is. Only this makes room in it.
 */
static void end_tell_emptied(struct job_end *e)
{
	for (uint32_t i = 0; i < e->nchannels; i++)
		if (e->channels[i].step && e->channels[i].read == e->channels[i].got)
			end_tell_read(e, i);
}

size_t job_end_next(struct job_end *e, uint8_t *out, size_t room)
{
	if (e->state == JOB_LOST)
		return 0;
	/* Home has nothing to say before the executor's end has: so that says hello with it, once. */
	if (e->role == JOB_EXECUTOR && e->state == JOB_PREPARING && e->link.first &&
	    job_link_settled(&e->link))
		return 0;
	if (job_end_writes(e)) {
		end_tell_emptied(e);
		end_tell_credit(e);
	}
	return job_link_next(&e->link, out, room);
}

/* ---- in ---- */

/* What the answer leaves of the credit is void. */
static void end_answered(struct job_channel *c)
{
	c->granted = c->told = c->got;
}

static int end_take_channel(struct job_end *e, const struct job_message *m)
{
	struct job_channel *c = &e->channels[m->channel];

	switch (m->what) {
	case JOB_DATA:
		if (c->over || end_bytes(m->data.length) > c->told - c->got)
			return -EPROTO;
		/* What home is given it writes. */
		if (e->role == JOB_HOME && !m->data.length)
			return -EPROTO;
		/* Home offers either copies or answers, and never leaves the former again. */
		if (m->data.copy != (e->role == JOB_EXECUTOR && c->ahead))
			return -EPROTO;
		c->got += end_bytes(m->data.length);
		if (e->role == JOB_EXECUTOR && !m->data.copy)
			end_answered(c);
		return 0;
	case JOB_END:
		if (c->over)
			return -EPROTO;
		c->over = true;
		end_answered(c);
		return 0;
	case JOB_NONE:
		if (c->over || c->ahead || c->told == c->got)
			return -EPROTO;
		end_answered(c);
		return 0;
	case JOB_OFFER:
		c->unsure = c->unsure_told = false;
		if (m->ahead && !c->ahead) {
			c->ahead = true;
			c->step = JOB_STEP;
			c->granted = c->got + JOB_WINDOW;
		}
		return 0;
	case JOB_CLOSED:
		c->closed = true;
		return 0;
	case JOB_WANT:
		/* No more than a window beyond what is used: nothing can make us keep more. */
		if (m->total < c->may || m->total - c->sent > JOB_WINDOW)
			return -EPROTO;
		c->unsure |= m->total == c->may && e->role == JOB_HOME;
		c->may = m->total;
		return 0;
	case JOB_READ:
		if (m->total < c->read || m->total > c->sent)
			return -EPROTO;
		c->shut = m->total == c->read;
		c->read = c->read_told = m->total;
		return 0;
	case JOB_OPENED:
	case JOB_SEEK:
	case JOB_LOCK:
		return m->channel < JOB_CHANNEL_FILES ? -EPROTO : 0;
	default:
		return 0;
	}
}

static int end_take_message(struct job_end *e, const struct job_link_frame *f)
{
	const struct end_rule *rule;
	struct job_message m;
	int err;

	err = job_message_decode(&m, f->type, f->body, f->length);
	if (err)
		return -EPROTO;
	if (m.channel >= e->nchannels)
		return -EPROTO;
	rule = &end_rules[m.what];
	/* The other role says it, and in a state that this end can be in meanwhile. */
	if (!(rule->roles & IN(!e->role)) ||
	    !((e->role == JOB_HOME ? rule->say : rule->take) & IN(e->state)))
		return -EPROTO;
	if (m.what == JOB_GO && e->state == JOB_FINISHED) {
		/* It crossed with JOB_REFUSED. */
		job_link_acknowledge(&e->link);
		return 0;
	}
	err = end_take_channel(e, &m);
	if (err)
		return err;
	if (m.what == JOB_END || m.what == JOB_CLOSED) {
		m.shut = e->channels[m.channel].shut;
		e->channels[m.channel].shut = false;
	}
	end_enter(e, &m);
	if (e->state == JOB_FINISHED)
		job_link_acknowledge(&e->link);
	return e->ops->message(e->ctx, &m);
}

int job_end_take(struct job_end *e, const uint8_t *payload, size_t length)
{
	struct job_link_frame frame;
	int ret;

	if (e->state == JOB_LOST)
		return 0;
	ret = job_link_take(&e->link, payload, length, &frame);
	if (ret > 0)
		ret = end_take_message(e, &frame);
	if (ret < 0)
		job_end_gone(e);
	return ret;
}

/* ---- the connection ---- */

void job_end_attach(struct job_end *e)
{
	if (e->state == JOB_LOST)
		return;
	job_link_attach(&e->link);
	if (e->state >= JOB_RUNNING)
		e->deadline = INT64_MAX;
	else if (e->again)
		e->deadline = e->detached; /* the next tick gives the start its time again */
}

void job_end_detach(struct job_end *e, int64_t now)
{
	if (e->state == JOB_LOST)
		return;
	/* Home has not said GO, and will not: the program can run there at once. */
	if (e->role == JOB_HOME && e->state < JOB_COMMITTED) {
		job_end_gone(e);
		return;
	}
	if (!e->link.attached)
		return;
	job_link_detach(&e->link);
	e->again = true;
	e->detached = now;
	e->deadline = now + e->limit_ms;
}

void job_end_tick(struct job_end *e, int64_t now)
{
	if (now < e->deadline)
		return;
	if (e->link.attached && e->again && e->state < JOB_RUNNING) {
		e->again = false;
		e->deadline = now + e->start_ms;
		return;
	}
	job_end_gone(e);
}

void job_end_set_limit(struct job_end *e, int64_t now, int64_t limit_ms)
{
	e->limit_ms = limit_ms;
	if (!e->link.attached && e->again && e->state != JOB_LOST)
		e->deadline = now + limit_ms;
}

bool job_end_done(const struct job_end *e)
{
	if (e->state == JOB_LOST)
		return true;
	if (e->state != JOB_FINISHED || e->link.ack_due)
		return false;
	/* What home has said besides does not matter any more. A hello acknowledges, too. */
	return e->role == JOB_HOME ? !e->link.hello_due : job_link_settled(&e->link);
}
