// SPDX-License-Identifier: GPL-2.0-or-later
#include "job_program.h"

#include <string.h>

#include "random.h"

static uint8_t scratch[JOB_DATA_MAX];

int party_away_message(void *ctx, const struct job_message *m)
{
	switch (m->what) {
	case JOB_GO:
		assert_false(party_home.ran_here);
		assert_int_equal(party_home.go, 1);
		assert_false(party_away.running);
		party_away.running = true;
		break;
	case JOB_SIGNAL:
		if (m->sent.signal == 9) {
			party_away.killed = true;
			break;
		}
		assert_int_equal(m->sent.signal, 10 + party_away.signals % 7);
		party_away.signals++;
		assert_true(party_away.signals <= party_home.signals_said + 1);
		break;
	case JOB_DATA:
		assert_int_equal(m->channel, 0);
		assert_true(party_away.have + m->data.length <= EXPECT);
		memcpy(party_arrived + party_away.have, m->data.bytes, m->data.length);
		party_away.have += m->data.length;
		assert_int_equal(m->data.copy, party_away.ahead);
		assert_true(party_away.have - party_away.read <= JOB_WINDOW);
		party_away.may_read = party_away.ahead;
		break;
	case JOB_NONE:
		assert_false(party_away.ahead);
		party_away.may_read = false;
		break;
	case JOB_OFFER:
		party_away.may_read = true;
		party_away.ahead |= m->ahead;
		break;
	case JOB_END:
		party_away.eof = true;
		break;
	case JOB_CLOSED:
		party_away.closed[m->channel] = true;
		break;
	default:
		break;
	}
	return 0;
}

void party_away_lost(void *ctx, enum job_state before)
{
	job.ends[AWAY].lost = true;
	job.ends[AWAY].before = before;
	party_check_lost(&job.ends[AWAY]);
	party_away.dead = true;
}

static void program_read(void)
{
	struct job_end *e = &job.ends[AWAY].e;
	uint64_t n = party_away.have - party_away.read;

	if (n > party_away.reading)
		n = party_away.reading;
	if (!n && party_away.eof) {
		party_away.reading = 0;
		return;
	}
	if (!n) {
		if (!party_away.ahead && party_away.may_read && !job_end_granted(e, 0)) {
			job_end_grant(e, 0, party_away.reading);
			party_away.may_read = false; /* once for an offer */
		}
		return;
	}
	if (memcmp(party_arrived + party_away.read, party_expect + party_away.read, n))
		fail_msg("input differs at %zu", (size_t)party_away.read);
	party_away.read += n;
	party_away.reading = 0;
	job_end_read(e, 0, party_away.read);
	if (party_away.ahead)
		job_end_grant(e, 0, n);
	job.bytes_all += n;
}

static void program_write(void)
{
	struct job_end *e = &job.ends[AWAY].e;
	size_t n = job_end_room(e, party_away.channel);

	if (party_away.closed[party_away.channel]) {
		party_away.writing = 0;
		return;
	}
	if (n > party_away.writing)
		n = party_away.writing;
	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		scratch[i] =
			party_byte(party_away.channel, party_away.wrote[party_away.channel] + i);
	job_end_send(e, party_away.channel, scratch, n, false);
	party_away.wrote[party_away.channel] += n;
	party_away.writing -= n;
}

static void program_exit(void)
{
	struct job_message m = { .what = JOB_EXIT };

	if (!party_away.exit_said) {
		party_away.use.status = party_away.killed ? 9 : random_below(256) << 8;
		party_away.use.user_us = random_64();
		party_away.more = !party_away.killed && party_away.children;
		m.exit.use = party_away.use;
		m.exit.more = party_away.more;
		party_away.exit_said = true;
		if (party_says(AWAY, m)) {
			party_away.exit_said = false;
			return;
		}
		party_away.ops = party_away.children;
		party_away.ended = !party_away.more;
	} else {
		m.what = JOB_OVER;
		party_away.ended = !party_says(AWAY, m);
	}
}

static void program_step(void)
{
	static const struct job_message stop = { .what = JOB_STOPPED, .signal = 19 };

	if (party_away.stop) {
		if (!party_away.killed && !random_one_in(10) && !job.calm)
			return;
		if (!party_says(AWAY, (struct job_message){ .what = JOB_CONTINUED })) {
			party_away.stop = false;
			party_away.continued++;
		}
		return;
	}
	if (party_away.killed)
		party_away.reading = party_away.writing = party_away.ops = 0;
	if (party_away.reading) {
		program_read();
		return;
	}
	if (party_away.writing) {
		program_write();
		return;
	}
	if (!party_away.ops) {
		program_exit();
		return;
	}
	party_away.ops--;
	switch (random_below(8)) {
	case 0:
		if (party_away.exit_said || party_says(AWAY, stop))
			break;
		party_away.stop = true;
		party_away.stopped++;
		party_away.read_at_stop = party_away.read;
		break;
	case 1:
	case 2:
	case 3:
		party_away.reading = 1 + random_below(random_one_in(10) ? 100000 : 500);
		break;
	case 4:
		party_away.channel = 1 + random_below(2);
		party_away.writing = 1 + random_below(random_one_in(10) ? 100000 : 500);
		break;
	default:
		party_away.channel = 1;
		party_away.writing = 1 + random_below(200);
	}
}

void party_away_step(void)
{
	struct end *s = &job.ends[AWAY];
	struct job_message no = { .what = JOB_REFUSED,
				  .refused = { .reason = 3, .text = "why", .length = 3 } };

	if (!s->alive || party_away.dead)
		return;
	switch (s->e.state) {
	case JOB_PREPARING:
	case JOB_PREPARED:
	case JOB_COMMITTED:
		if (party_away.refuse && random_one_in(4)) {
			party_says(AWAY, no);
			return;
		}
		if (s->e.state == JOB_PREPARING && random_one_in(3))
			party_says(AWAY, (struct job_message){ .what = JOB_READY });
		if (s->e.state != JOB_COMMITTED || !random_one_in(3))
			return;
		assert_true(party_away.running);
		assert_false(party_home.ran_here);
		party_away.started++;
		assert_int_equal(party_away.started, 1);
		assert_int_equal(
			party_says(AWAY, (struct job_message){ .what = JOB_STARTED, .pid = 4711 }),
			0);
		break;
	case JOB_RUNNING:
	case JOB_ENDED:
		for (int i = 0; i < 3 && !party_away.ended; i++)
			program_step();
		break;
	default:
		break;
	}
}
