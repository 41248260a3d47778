// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two ends of a job, their two routers and three connections between them, in virtual time, with a
 * program that reads, writes, stops and ends, a source that another process reads from, and slow
 * sinks. Connections break, frames are lost, come twice and late, routers forget, ends are killed:
 * nothing is doubled, out of order or made up, and nobody waits for longer than he must.
 * EHS_ROUNDS=N: so many faults.
 */
#include "job_routes.h"

/* ---- the program and what it is connected with ---- */

static struct {
	/* the source: bytes are numbers of their places */
	uint64_t head, made, second;
	uint64_t removed, answered; /* for the program; of that, without copies */
	bool second_reader, ahead_wanted, ahead, source_ended, end_said, offered;
	unsigned int answers, ahead_after;
	uint64_t copied;
	/* sinks */
	uint64_t got[JOB_CHANNELS], backlog[JOB_CHANNELS];
	bool closed[JOB_CHANNELS], over[JOB_CHANNELS];
	unsigned int slow;
	/* messages */
	unsigned int go, signals_said, started, stopped, continued;
	bool ready, refused, ran_here, exit_seen, over_seen;
	struct frame_exit use;
	bool more;
} h;

static struct {
	unsigned int started, ops, children, signals, stopped, continued;
	bool running, stop, dead, killed, exit_said, ended, say_stop, say_continue, may_read, eof;
	size_t reading, writing; /* what the program waits in */
	uint32_t channel;
	uint64_t wrote[JOB_CHANNELS], read, have; /* have: came, of the input */
	bool ends_said[JOB_CHANNELS], closed[JOB_CHANNELS];
	bool ahead, refuse, left;
	uint64_t read_at_stop;
	struct frame_exit use;
	bool more;
} x;

static uint8_t *expect, *pipe_of; /* what was taken for the program; what came */
static uint8_t scratch[JOB_DATA_MAX];

static uint8_t byte_of(uint32_t channel, uint64_t at)
{
	return (uint8_t)(at * 2654435761u >> 11) ^ (uint8_t)(channel * 91);
}

/* An end's process has gone: its router sees that, if it is connected. */
static void leave(int end)
{
	struct end *s = &ends[end];

	if (!s->alive)
		return;
	s->alive = false;
	if (end == AWAY)
		x.dead = x.left = true;
	if (connections[2 * end].up)
		push(queue_out(end), GONE, NULL, 0);
}

/* ---- home's end ---- */

static int say(int end, struct job_message m)
{
	int err = job_end_say(&ends[end].e, &m);

	assert_true(!err || err == -11 || err == -32);
	return err;
}

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

/* Not before its time, after GO: nothing but the limits and word of it ends a job. */
static void check_lost(const struct end *s)
{
	int64_t limit = s->attached || !s->since ? START : LIMIT;

	if (s->gone)
		return;
	assert_true(s->since + limit <= now);
	if (s->attached)
		assert_true(s->before < JOB_RUNNING);
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

/* ---- the executor's end and the program ---- */

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

/* ---- faults and time ---- */

static void fault(void)
{
	int towards = random_below(2), c = random_below(3);
	const struct entry *l = &late[towards][random_below(LATE)];

	switch (random_below(20)) {
	case 0:
		if (!one_in(100))
			break;
		/* the end itself */
		kills += ends[towards].alive;
		leave(towards);
		return;
	case 1:
		/* too long, or nearly; the connection may break again after that */
		if (!one_in(10))
			break;
		longs += connections[c].up;
		drop(c);
		connections[c].again = now + LIMIT - 50 + random_below(100);
		return;
	case 2:
	case 3:
	case 4:
	case 5:
	case 6:
	case 7:
	case 8:
	case 9:
		break;
	default:
		/* of an earlier connection, perhaps before this one's hello */
		if (!l->n)
			break;
		odd++;
		take(towards, l);
		return;
	}
	breaks += connections[c].up;
	/* what was on its way may come yet, or a part of it */
	for (int i = random_below(20); i > 0; i--)
		forward(random_below(6));
	drop(c);
}

static void check_bounds(int end)
{
	struct end *s = &ends[end];
	struct job_link *l = &s->e.link;

	if (!s->alive)
		return;
	assert_true(s->e.state >= s->seen);
	s->seen = s->e.state;
	assert_true(l->head - l->tail <= JOB_MEMORY);
	assert_true(l->tail <= l->next && l->next <= l->head);
	if (s->e.state == JOB_LOST || job_end_done(&s->e))
		return;
	assert_int_equal(s->attached, s->e.link.attached);
	/* before GO a break is the end, at home */
	if (end == HOME && s->since && !s->attached)
		assert_true(s->e.state >= JOB_COMMITTED);
	if (!s->attached && (end == AWAY || s->e.state >= JOB_COMMITTED))
		assert_true(now <= s->since + (s->since ? LIMIT : START));
	if (s->attached && s->e.state < JOB_RUNNING)
		assert_true(now <= s->since + START);
}

static void check_job(void);

static void step(void)
{
	now++;
	open_all();
	if (!calm && one_in(hostile))
		fault();
	for (int i = 0; i < 2; i++) {
		if (ends[i].alive && now >= job_end_deadline(&ends[i].e))
			job_end_tick(&ends[i].e, now);
		check_bounds(i);
	}
	home_step();
	away_step();
	for (int i = 0; i < 2; i++) {
		int first = random_below(2);

		send_out(first);
		for (int q = 0; q < 6; q++)
			for (int n = 1 + random_below(4); n > 0; n--)
				forward(q);
		send_out(!first);
	}
	for (int i = 0; i < 2; i++)
		if (ends[i].alive && job_end_done(&ends[i].e) && !(i == HOME && one_in(3))) {
			send_out(i);
			if (i == HOME)
				check_job();
			leave(i);
		}
}

/* Home's end is done: what it knows is what was. */
static void check_job(void)
{
	if (ends[HOME].e.state != JOB_FINISHED || h.refused)
		return;
	finished++;
	assert_true(h.exit_seen && h.over_seen == h.more);
	for (uint32_t c = 1; c < 3; c++)
		if (!h.closed[c])
			assert_int_equal(h.got[c], x.wrote[c]);
	/* who was killed while he read has not got the answer */
	if (x.killed && x.read < h.answered)
		assert_int_equal(h.removed, h.answered);
	else
		assert_int_equal(h.removed, x.read);
	assert_int_equal(h.head, h.removed + h.second);
	assert_int_equal(h.stopped, x.stopped);
	assert_int_equal(h.continued, x.continued);
}

static void begin(void)
{
	static const struct job_end_ops home_ops = { home_message, home_lost },
					away_ops = { away_message, away_lost };

	memset(&h, 0, sizeof(h));
	memset(&x, 0, sizeof(x));
	for (int i = 0; i < 6; i++)
		queues[i].length = 0;
	for (int i = 0; i < 2; i++) {
		uint8_t *memory = ends[i].memory;

		memset(&ends[i], 0, sizeof(ends[i]));
		ends[i].memory = memory;
		ends[i].alive = true;
		for (int j = 0; j < LATE; j++)
			late[i][j].n = 0;
	}
	now = 0;
	calm = false;
	job_end_init(&ends[HOME].e, JOB_HOME, ends[HOME].memory, now, START, LIMIT, &home_ops,
		     NULL);
	job_end_init(&ends[AWAY].e, JOB_EXECUTOR, ends[AWAY].memory, now, START, LIMIT, &away_ops,
		     NULL);
	for (int c = 0; c < 3; c++)
		connections[c] = (struct connection){ .up = c != 1, .again = random_below(10) };
	x.ops = random_below(150);
	x.children = one_in(3) ? random_below(40) : 0;
	x.refuse = one_in(20);
	h.second_reader = one_in(3);
	h.ahead_wanted = one_in(2);
	h.ahead_after = random_below(4);
	h.slow = 1 + random_below(one_in(4) ? 100 : 4);
}

static void one_job(void)
{
	int64_t storm = 50 + random_below(3000), first = random_below(60);

	begin();
	hostile = 1000000;
	/* many jobs start before it goes wrong: before GO a break ends them */
	while (now < first)
		step();
	hostile = 1 + random_below(1 + random_below(60));
	while (now < storm && (ends[HOME].alive || ends[AWAY].alive))
		step();
	/* all works: both ends come to their end */
	calm = true;
	storm = now;
	while (ends[HOME].alive || ends[AWAY].alive) {
		step();
		if (now > storm + 20000)
			fail_msg(
				"no end: home %d in state %d, executor %d in state %d, reads %zu, writes %zu, ops %u",
				ends[HOME].alive, ends[HOME].e.state, ends[AWAY].alive,
				ends[AWAY].e.state, x.reading, x.writing, x.ops);
	}
	assert_true(!h.ran_here || !x.started);
}

static void test_faults(void **state)
{
	const char *rounds = getenv("EHS_ROUNDS");
	uint64_t wanted = rounds ? strtoull(rounds, NULL, 0) : 1000000, jobs = 0;

	random_begin();
	for (int i = 0; i < 2; i++) {
		ends[i].memory = malloc(JOB_MEMORY);
		assert_non_null(ends[i].memory);
	}
	expect = malloc(EXPECT);
	pipe_of = malloc(EXPECT);
	assert_non_null(expect);
	assert_non_null(pipe_of);
	for (; breaks + odd + longs + kills < wanted; jobs++)
		one_job();
	printf("# %llu faults in %llu jobs: %llu breaks, %llu late or double, %llu long, %llu kills\n",
	       (unsigned long long)(breaks + odd + longs + kills), (unsigned long long)jobs,
	       (unsigned long long)breaks, (unsigned long long)odd, (unsigned long long)longs,
	       (unsigned long long)kills);
	printf("# %llu finished, %llu lost, %llu run at home, %llu times none, %llu MiB\n",
	       (unsigned long long)finished, (unsigned long long)lost_jobs,
	       (unsigned long long)local_runs, (unsigned long long)nones,
	       (unsigned long long)(bytes_all >> 20));
	/* it is no test if all fail early */
	if (wanted >= 100000)
		assert_true(finished > jobs / 10 && lost_jobs > 20 && local_runs > 20 &&
			    nones > 20);
	for (int i = 0; i < 2; i++)
		free(ends[i].memory);
	free(expect);
	free(pipe_of);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_faults) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
