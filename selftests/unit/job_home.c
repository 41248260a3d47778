// SPDX-License-Identifier: GPL-2.0-or-later
#include "job_home.h"

#include <string.h>

#include "random.h"

static uint8_t scratch[JOB_DATA_MAX];

static void home_data(const struct job_message *m)
{
	uint32_t c = m->channel;

	assert_false(party_home.over[c]);
	assert_false(m->data.copy);
	for (uint32_t i = 0; i < m->data.length; i++)
		if (m->data.bytes[i] != party_byte(c, party_home.got[c] + i))
			fail_msg("output %u differs at %zu", c, (size_t)(party_home.got[c] + i));
	party_home.got[c] += m->data.length;
	party_home.backlog[c] += m->data.length;
	assert_true(party_home.got[c] <= party_away.wrote[c]);
	assert_true(party_home.backlog[c] <= JOB_WINDOW);
	job.bytes_all += m->data.length;
}

int party_home_message(void *ctx, const struct job_message *m)
{
	switch (m->what) {
	case JOB_READY:
		assert_false(party_home.ready);
		party_home.ready = true;
		break;
	case JOB_STARTED:
		party_home.started++;
		assert_int_equal(party_home.started, 1);
		assert_int_equal(party_away.started, 1);
		assert_int_equal(m->pid, 4711);
		break;
	case JOB_REFUSED:
		assert_int_equal(party_away.started, 0);
		assert_int_equal(m->refused.length, 3);
		party_home.refused = party_home.ran_here = true;
		break;
	case JOB_STOPPED:
		party_home.stopped++;
		assert_true(party_home.stopped <= party_away.stopped);
		/* all that it has read until then is known */
		if (party_home.ahead && party_home.stopped == party_away.stopped)
			assert_int_equal(party_home.removed, party_away.read_at_stop);
		break;
	case JOB_CONTINUED:
		party_home.continued++;
		assert_true(party_home.continued <= party_away.continued);
		break;
	case JOB_EXIT:
		assert_false(party_home.exit_seen);
		party_home.exit_seen = true;
		party_home.use = m->exit.use;
		party_home.more = m->exit.more;
		assert_true(party_away.exit_said);
		assert_memory_equal(&party_home.use, &party_away.use, sizeof(party_home.use));
		assert_int_equal(party_home.more, party_away.more);
		break;
	case JOB_OVER:
		assert_true(party_home.exit_seen && party_home.more && !party_home.over_seen);
		party_home.over_seen = true;
		break;
	case JOB_DATA:
		home_data(m);
		break;
	case JOB_END:
		party_home.over[m->channel] = true;
		assert_int_equal(party_home.got[m->channel], party_away.wrote[m->channel]);
		break;
	case JOB_READ:
		assert_int_equal(m->channel, 0);
		assert_true(m->total <= party_away.read);
		if (party_home.ahead && m->total > party_home.removed) {
			party_home.head += m->total - party_home.removed;
			party_home.removed = m->total;
			assert_true(party_home.head <= party_home.made);
		}
		break;
	default:
		break;
	}
	return 0;
}

void party_home_lost(void *ctx, enum job_state before)
{
	struct end *s = &job.ends[HOME];

	assert_false(s->lost);
	s->lost = true;
	s->before = before;
	if (before < JOB_COMMITTED) {
		party_home.ran_here = true;
		assert_int_equal(party_away.started, 0);
		assert_int_equal(party_home.go, 0);
		job.local_runs++;
	} else {
		party_check_lost(s);
		job.lost_jobs++;
	}
}

/* Takes for the program what the stub's read() gives, or copies it. */
static void home_input(void)
{
	struct job_end *e = &job.ends[HOME].e;
	size_t room = job_end_room(e, 0);
	uint64_t left = party_home.made -
			(party_home.ahead ? party_home.head - party_home.removed + party_home.copied
					  : party_home.head);

	if (party_home.end_said)
		return;
	if (!party_home.ahead && !party_home.offered && left) {
		bool ahead = party_home.ahead_wanted &&
			     party_home.answers >= party_home.ahead_after &&
			     !party_home.second_reader;

		if (party_says(HOME, (struct job_message){ .what = JOB_OFFER, .ahead = ahead }))
			return;
		party_home.offered = true;
		if (ahead) {
			party_home.ahead = true;
			party_home.copied = party_home.removed; /* in bytes of the channel */
		}
		return;
	}
	if (party_home.source_ended && !left && (party_home.ahead || room || random_one_in(10))) {
		if (!party_says(HOME, (struct job_message){ .what = JOB_END }))
			party_home.end_said = true;
		return;
	}
	if (!room)
		return;
	if (!left) {
		if (!party_home.ahead &&
		    !party_says(HOME, (struct job_message){ .what = JOB_NONE })) {
			party_home.offered = false;
			job.nones++;
		}
		return;
	}
	if (room > left)
		room = left;
	if (party_home.removed + room > EXPECT || party_home.copied + room > EXPECT)
		return;
	for (size_t i = 0; i < room; i++)
		scratch[i] =
			party_byte(0, (party_home.ahead ? party_home.head - party_home.removed +
								  party_home.copied
							: party_home.head) +
					      i);
	if (party_home.ahead) {
		memcpy(party_expect + party_home.copied, scratch, room);
		party_home.copied += room;
	} else {
		memcpy(party_expect + party_home.removed, scratch, room);
		party_home.answered = party_home.removed += room;
		party_home.head += room;
		party_home.answers++;
		party_home.offered = false;
	}
	job_end_send(e, 0, scratch, room, party_home.ahead);
}

void party_home_step(void)
{
	struct end *s = &job.ends[HOME];
	enum job_state state = s->e.state;

	if (!s->alive)
		return;
	if (state == JOB_PREPARED && random_one_in(3)) {
		assert_int_equal(party_says(HOME, (struct job_message){ .what = JOB_GO }), 0);
		party_home.go++;
		assert_int_equal(party_home.go, 1);
	}
	if (!party_home.source_ended && party_home.made < 200000) {
		if (random_one_in(3))
			party_home.made += random_below(random_one_in(20) ? 20000 : 300);
		party_home.source_ended = random_one_in(100) || job.calm;
	} else {
		party_home.source_ended = true;
	}
	/* the second reader */
	if (party_home.second_reader && party_home.made > party_home.head && random_one_in(4)) {
		uint64_t n = 1 + random_below(party_home.made - party_home.head);

		party_home.head += n;
		party_home.second += n;
	}
	for (uint32_t c = 1; c < 3; c++) {
		size_t n = party_home.backlog[c];

		if (!n || (!job.calm && !random_one_in(party_home.slow)))
			continue;
		n = random_one_in(3) ? n : 1 + random_below(n);
		party_home.backlog[c] -= n;
		job_end_grant(&s->e, c, n);
	}
	if (state != JOB_RUNNING && state != JOB_ENDED)
		return;
	home_input();
	if (random_one_in(30)) {
		bool deadly = random_one_in(20);
		unsigned int sig = deadly ? 9 : 10 + party_home.signals_said % 7;

		if (!party_says(HOME,
				(struct job_message){ .what = JOB_SIGNAL, .sent.signal = sig }) &&
		    !deadly)
			party_home.signals_said++;
	}
	if (random_one_in(2000)) {
		uint32_t c = 1 + random_below(2);

		if (!party_says(HOME, (struct job_message){ .what = JOB_CLOSED, .channel = c }))
			party_home.closed[c] = true;
	}
}
