// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two ends of a job, their two routers and three connections between them, in virtual time, with a
 * program that reads, writes, stops and ends, a source that another process reads from, and slow
 * sinks. Connections break, frames are lost, come twice and late, routers forget, ends are killed:
 * nothing is doubled, out of order or made up, and nobody waits for longer than he must.
 * EHS_ROUNDS=N: so many faults.
 */
#include <stdio.h>

#include "job_home.h"
#include "job_program.h"

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
		if (ends[i].alive && now >= ends[i].e.deadline)
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
	/* a reader that was killed meanwhile has not got the answer */
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
	/* it is not a test if all fail early */
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
