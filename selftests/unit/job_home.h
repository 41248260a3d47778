/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Home's end of a job, with a source that another process reads, too, and sinks that may be slow. */
#ifndef UNIT_JOB_HOME_H
#define UNIT_JOB_HOME_H

#include "job_parties.h"

static void home_data(const struct job_message *m)
{
	uint32_t c = m->channel;

	assert_false(h.over[c]);
	assert_false(m->data.copy);
	for (uint32_t i = 0; i < m->data.length; i++)
		if (m->data.bytes[i] != byte_of(c, h.got[c] + i))
			fail_msg("output %u differs at %zu", c, (size_t)(h.got[c] + i));
	h.got[c] += m->data.length;
	h.backlog[c] += m->data.length;
	assert_true(h.got[c] <= x.wrote[c]);
	assert_true(h.backlog[c] <= JOB_WINDOW);
	bytes_all += m->data.length;
}

static int home_message(void *ctx, const struct job_message *m)
{
	switch (m->what) {
	case JOB_READY:
		assert_false(h.ready);
		h.ready = true;
		break;
	case JOB_STARTED:
		h.started++;
		assert_int_equal(h.started, 1);
		assert_int_equal(x.started, 1);
		assert_int_equal(m->pid, 4711);
		break;
	case JOB_REFUSED:
		assert_int_equal(x.started, 0);
		assert_int_equal(m->refused.length, 3);
		h.refused = h.ran_here = true;
		break;
	case JOB_STOPPED:
		h.stopped++;
		assert_true(h.stopped <= x.stopped);
		/* all that it has read until then is known */
		if (h.ahead && h.stopped == x.stopped)
			assert_int_equal(h.removed, x.read_at_stop);
		break;
	case JOB_CONTINUED:
		h.continued++;
		assert_true(h.continued <= x.continued);
		break;
	case JOB_EXIT:
		assert_false(h.exit_seen);
		h.exit_seen = true;
		h.use = m->exit.use;
		h.more = m->exit.more;
		assert_true(x.exit_said);
		assert_memory_equal(&h.use, &x.use, sizeof(h.use));
		assert_int_equal(h.more, x.more);
		break;
	case JOB_OVER:
		assert_true(h.exit_seen && h.more && !h.over_seen);
		h.over_seen = true;
		break;
	case JOB_DATA:
		home_data(m);
		break;
	case JOB_END:
		h.over[m->channel] = true;
		assert_int_equal(h.got[m->channel], x.wrote[m->channel]);
		break;
	case JOB_READ:
		assert_int_equal(m->channel, 0);
		assert_true(m->total <= x.read);
		if (h.ahead && m->total > h.removed) {
			h.head += m->total - h.removed;
			h.removed = m->total;
			assert_true(h.head <= h.made);
		}
		break;
	default:
		break;
	}
	return 0;
}

static void home_lost(void *ctx, enum job_state before)
{
	struct end *s = &ends[HOME];

	assert_false(s->lost);
	s->lost = true;
	s->before = before;
	if (before < JOB_COMMITTED) {
		h.ran_here = true;
		assert_int_equal(x.started, 0);
		assert_int_equal(h.go, 0);
		local_runs++;
	} else {
		check_lost(s);
		lost_jobs++;
	}
}

/* Takes for the program what the stub's read() gives, or copies it. */
static void home_input(void)
{
	struct job_end *e = &ends[HOME].e;
	size_t room = job_end_room(e, 0);
	uint64_t left = h.made - (h.ahead ? h.head - h.removed + h.copied : h.head);

	if (h.end_said)
		return;
	if (!h.ahead && !h.offered && left) {
		bool ahead = h.ahead_wanted && h.answers >= h.ahead_after && !h.second_reader;

		if (say(HOME, (struct job_message){ .what = JOB_OFFER, .ahead = ahead }))
			return;
		h.offered = true;
		if (ahead) {
			h.ahead = true;
			h.copied = h.removed; /* in bytes of the channel */
		}
		return;
	}
	if (h.source_ended && !left && (h.ahead || room || one_in(10))) {
		if (!say(HOME, (struct job_message){ .what = JOB_END }))
			h.end_said = true;
		return;
	}
	if (!room)
		return;
	if (!left) {
		if (!h.ahead && !say(HOME, (struct job_message){ .what = JOB_NONE })) {
			h.offered = false;
			nones++;
		}
		return;
	}
	if (room > left)
		room = left;
	if (h.removed + room > EXPECT || h.copied + room > EXPECT)
		return;
	for (size_t i = 0; i < room; i++)
		scratch[i] = byte_of(0, (h.ahead ? h.head - h.removed + h.copied : h.head) + i);
	if (h.ahead) {
		memcpy(expect + h.copied, scratch, room);
		h.copied += room;
	} else {
		memcpy(expect + h.removed, scratch, room);
		h.answered = h.removed += room;
		h.head += room;
		h.answers++;
		h.offered = false;
	}
	job_end_send(e, 0, scratch, room, h.ahead);
}

static void home_step(void)
{
	struct end *s = &ends[HOME];
	enum job_state state = s->e.state;

	if (!s->alive)
		return;
	if (state == JOB_PREPARED && one_in(3)) {
		assert_int_equal(say(HOME, (struct job_message){ .what = JOB_GO }), 0);
		h.go++;
		assert_int_equal(h.go, 1);
	}
	if (!h.source_ended && h.made < 200000) {
		if (one_in(3))
			h.made += random_below(one_in(20) ? 20000 : 300);
		h.source_ended = one_in(100) || calm;
	} else {
		h.source_ended = true;
	}
	/* the second reader */
	if (h.second_reader && h.made > h.head && one_in(4)) {
		uint64_t n = 1 + random_below(h.made - h.head);

		h.head += n;
		h.second += n;
	}
	for (uint32_t c = 1; c < 3; c++) {
		size_t n = h.backlog[c];

		if (!n || (!calm && !one_in(h.slow)))
			continue;
		n = one_in(3) ? n : 1 + random_below(n);
		h.backlog[c] -= n;
		job_end_grant(&s->e, c, n);
	}
	if (state != JOB_RUNNING && state != JOB_ENDED)
		return;
	home_input();
	if (one_in(30)) {
		bool deadly = one_in(20);
		unsigned int sig = deadly ? 9 : 10 + h.signals_said % 7;

		if (!say(HOME, (struct job_message){ .what = JOB_SIGNAL, .sent.signal = sig }) &&
		    !deadly)
			h.signals_said++;
	}
	if (one_in(2000)) {
		uint32_t c = 1 + random_below(2);

		if (!say(HOME, (struct job_message){ .what = JOB_CLOSED, .channel = c }))
			h.closed[c] = true;
	}
}

#endif
