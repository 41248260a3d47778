/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executor's end of a job, with a program that reads, writes, stops and ends. */
#ifndef UNIT_JOB_PROGRAM_H
#define UNIT_JOB_PROGRAM_H

#include "job_parties.h"

static int away_message(void *ctx, const struct job_message *m)
{
	switch (m->what) {
	case JOB_GO:
		assert_false(h.ran_here);
		assert_int_equal(h.go, 1);
		assert_false(x.running);
		x.running = true;
		break;
	case JOB_SIGNAL:
		if (m->sent.signal == 9) {
			x.killed = true;
			break;
		}
		assert_int_equal(m->sent.signal, 10 + x.signals % 7);
		x.signals++;
		assert_true(x.signals <= h.signals_said + 1);
		break;
	case JOB_DATA:
		assert_int_equal(m->channel, 0);
		assert_true(x.have + m->data.length <= EXPECT);
		memcpy(pipe_of + x.have, m->data.bytes, m->data.length);
		x.have += m->data.length;
		assert_int_equal(m->data.copy, x.ahead);
		assert_true(x.have - x.read <= JOB_WINDOW);
		x.may_read = x.ahead;
		break;
	case JOB_NONE:
		assert_false(x.ahead);
		x.may_read = false;
		break;
	case JOB_OFFER:
		x.may_read = true;
		x.ahead |= m->ahead;
		break;
	case JOB_END:
		x.eof = true;
		break;
	case JOB_CLOSED:
		x.closed[m->channel] = true;
		break;
	default:
		break;
	}
	return 0;
}

static void away_lost(void *ctx, enum job_state before)
{
	ends[AWAY].lost = true;
	ends[AWAY].before = before;
	check_lost(&ends[AWAY]);
	x.dead = true;
}

static void program_read(void)
{
	struct job_end *e = &ends[AWAY].e;
	uint64_t n = x.have - x.read;

	if (n > x.reading)
		n = x.reading;
	if (!n && x.eof) {
		x.reading = 0;
		return;
	}
	if (!n) {
		if (!x.ahead && x.may_read && !job_end_granted(e, 0)) {
			job_end_grant(e, 0, x.reading);
			x.may_read = false; /* once for an offer */
		}
		return;
	}
	if (memcmp(pipe_of + x.read, expect + x.read, n))
		fail_msg("input differs at %zu", (size_t)x.read);
	x.read += n;
	x.reading = 0;
	job_end_read(e, 0, x.read);
	if (x.ahead)
		job_end_grant(e, 0, n);
	bytes_all += n;
}

static void program_write(void)
{
	struct job_end *e = &ends[AWAY].e;
	size_t n = job_end_room(e, x.channel);

	if (x.closed[x.channel]) {
		x.writing = 0;
		return;
	}
	if (n > x.writing)
		n = x.writing;
	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		scratch[i] = byte_of(x.channel, x.wrote[x.channel] + i);
	job_end_send(e, x.channel, scratch, n, false);
	x.wrote[x.channel] += n;
	x.writing -= n;
}

static void program_exit(void)
{
	struct job_message m = { .what = JOB_EXIT };

	if (!x.exit_said) {
		x.use.status = x.killed ? 9 : random_below(256) << 8;
		x.use.user_us = random_64();
		x.more = !x.killed && x.children;
		m.exit.use = x.use;
		m.exit.more = x.more;
		x.exit_said = true;
		if (say(AWAY, m)) {
			x.exit_said = false;
			return;
		}
		x.ops = x.children;
		x.ended = !x.more;
	} else {
		m.what = JOB_OVER;
		x.ended = !say(AWAY, m);
	}
}

static void program_step(void)
{
	static const struct job_message stop = { .what = JOB_STOPPED, .signal = 19 };

	if (x.stop) {
		if (!x.killed && !one_in(10) && !calm)
			return;
		if (!say(AWAY, (struct job_message){ .what = JOB_CONTINUED })) {
			x.stop = false;
			x.continued++;
		}
		return;
	}
	if (x.killed)
		x.reading = x.writing = x.ops = 0;
	if (x.reading) {
		program_read();
		return;
	}
	if (x.writing) {
		program_write();
		return;
	}
	if (!x.ops) {
		program_exit();
		return;
	}
	x.ops--;
	switch (random_below(8)) {
	case 0:
		if (x.exit_said || say(AWAY, stop))
			break;
		x.stop = true;
		x.stopped++;
		x.read_at_stop = x.read;
		break;
	case 1:
	case 2:
	case 3:
		x.reading = 1 + random_below(one_in(10) ? 100000 : 500);
		break;
	case 4:
		x.channel = 1 + random_below(2);
		x.writing = 1 + random_below(one_in(10) ? 100000 : 500);
		break;
	default:
		x.channel = 1;
		x.writing = 1 + random_below(200);
	}
}

static void away_step(void)
{
	struct end *s = &ends[AWAY];
	struct job_message no = { .what = JOB_REFUSED,
				  .refused = { .reason = 3, .text = "why", .length = 3 } };

	if (!s->alive || x.dead)
		return;
	switch (s->e.state) {
	case JOB_PREPARING:
	case JOB_PREPARED:
	case JOB_COMMITTED:
		if (x.refuse && one_in(4)) {
			say(AWAY, no);
			return;
		}
		if (s->e.state == JOB_PREPARING && one_in(3))
			say(AWAY, (struct job_message){ .what = JOB_READY });
		if (s->e.state != JOB_COMMITTED || !one_in(3))
			return;
		assert_true(x.running);
		assert_false(h.ran_here);
		x.started++;
		assert_int_equal(x.started, 1);
		assert_int_equal(
			say(AWAY, (struct job_message){ .what = JOB_STARTED, .pid = 4711 }), 0);
		break;
	case JOB_RUNNING:
	case JOB_ENDED:
		for (int i = 0; i < 3 && !x.ended; i++)
			program_step();
		break;
	default:
		break;
	}
}

#endif
