// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two ends of a job, their two routers and three connections between them, in virtual time, with a
 * program that reads, writes, stops and ends, a source that another process reads from, and slow
 * sinks. Connections break, frames are lost, come twice and late, routers forget, ends are killed:
 * nothing is doubled, out of order or made up, and nobody waits for longer than he must.
 * EHS_ROUNDS=N: so many faults.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_home.h"
#include "job_program.h"
#include "random.h"

/* ---- faults and time ---- */

static void fault(void)
{
	int towards = random_below(2), c = random_below(3);
	const struct entry *l = &job.late[towards][random_below(LATE)];

	switch (random_below(20)) {
	case 0:
		if (!random_one_in(100))
			break;
		/* the end itself */
		job.kills += job.ends[towards].alive;
		party_leaves(towards);
		return;
	case 1:
		/* too long, or nearly; the connection may break again after that */
		if (!random_one_in(10))
			break;
		job.longs += job.connections[c].up;
		routes_drop(c);
		job.connections[c].again = job.now + LIMIT - 50 + random_below(100);
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
		job.odd++;
		routes_take(towards, l);
		return;
	}
	job.breaks += job.connections[c].up;
	/* what was on its way may come yet, or a part of it */
	for (int i = random_below(20); i > 0; i--)
		routes_forward(random_below(6));
	routes_drop(c);
}

static void check_bounds(int end)
{
	struct end *s = &job.ends[end];
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
		assert_true(job.now <= s->since + (s->since ? LIMIT : START));
	if (s->attached && s->e.state < JOB_RUNNING)
		assert_true(job.now <= s->since + START);
}

static void check_job(void);

static void step(void)
{
	job.now++;
	routes_open_all();
	if (!job.calm && random_one_in(job.hostile))
		fault();
	for (int i = 0; i < 2; i++) {
		if (job.ends[i].alive && job.now >= job.ends[i].e.deadline)
			job_end_tick(&job.ends[i].e, job.now);
		check_bounds(i);
	}
	party_home_step();
	party_away_step();
	for (int i = 0; i < 2; i++) {
		int first = random_below(2);

		routes_send_out(first);
		for (int q = 0; q < 6; q++)
			for (int n = 1 + random_below(4); n > 0; n--)
				routes_forward(q);
		routes_send_out(!first);
	}
	for (int i = 0; i < 2; i++)
		if (job.ends[i].alive && job_end_done(&job.ends[i].e) &&
		    !(i == HOME && random_one_in(3))) {
			routes_send_out(i);
			if (i == HOME)
				check_job();
			party_leaves(i);
		}
}

/* Home's end is done: what it knows is what was. */
static void check_job(void)
{
	if (job.ends[HOME].e.state != JOB_FINISHED || party_home.refused)
		return;
	job.finished++;
	assert_true(party_home.exit_seen && party_home.over_seen == party_home.more);
	for (uint32_t c = 1; c < 3; c++)
		if (!party_home.closed[c])
			assert_int_equal(party_home.got[c], party_away.wrote[c]);
	/* a reader that was killed meanwhile has not got the answer */
	if (party_away.killed && party_away.read < party_home.answered)
		assert_int_equal(party_home.removed, party_home.answered);
	else
		assert_int_equal(party_home.removed, party_away.read);
	assert_int_equal(party_home.head, party_home.removed + party_home.second);
	assert_int_equal(party_home.stopped, party_away.stopped);
	assert_int_equal(party_home.continued, party_away.continued);
}

static void begin(void)
{
	static const struct job_end_ops home_ops = { party_home_message, party_home_lost },
					away_ops = { party_away_message, party_away_lost };

	memset(&party_home, 0, sizeof(party_home));
	memset(&party_away, 0, sizeof(party_away));
	for (int i = 0; i < 6; i++)
		job.queues[i].length = 0;
	for (int i = 0; i < 2; i++) {
		uint8_t *memory = job.ends[i].memory;

		memset(&job.ends[i], 0, sizeof(job.ends[i]));
		job.ends[i].memory = memory;
		job.ends[i].alive = true;
		for (int j = 0; j < LATE; j++)
			job.late[i][j].n = 0;
	}
	job.now = 0;
	job.calm = false;
	job_end_init(&job.ends[HOME].e, JOB_HOME, job.ends[HOME].memory, job.now, START, LIMIT,
		     &home_ops, NULL);
	job_end_init(&job.ends[AWAY].e, JOB_EXECUTOR, job.ends[AWAY].memory, job.now, START, LIMIT,
		     &away_ops, NULL);
	for (int c = 0; c < 3; c++)
		job.connections[c] = (struct connection){ .up = c != 1, .again = random_below(10) };
	party_away.ops = random_below(150);
	party_away.children = random_one_in(3) ? random_below(40) : 0;
	party_away.refuse = random_one_in(20);
	party_home.second_reader = random_one_in(3);
	party_home.ahead_wanted = random_one_in(2);
	party_home.ahead_after = random_below(4);
	party_home.slow = 1 + random_below(random_one_in(4) ? 100 : 4);
}

static void one_job(void)
{
	int64_t storm = 50 + random_below(3000), first = random_below(60);

	begin();
	job.hostile = 1000000;
	/* many jobs start before it goes wrong: before GO a break ends them */
	while (job.now < first)
		step();
	job.hostile = 1 + random_below(1 + random_below(60));
	while (job.now < storm && (job.ends[HOME].alive || job.ends[AWAY].alive))
		step();
	/* all works: both ends come to their end */
	job.calm = true;
	storm = job.now;
	while (job.ends[HOME].alive || job.ends[AWAY].alive) {
		step();
		if (job.now > storm + 20000)
			fail_msg(
				"no end: home %d in state %d, executor %d in state %d, reads %zu, writes %zu, ops %u",
				job.ends[HOME].alive, job.ends[HOME].e.state, job.ends[AWAY].alive,
				job.ends[AWAY].e.state, party_away.reading, party_away.writing,
				party_away.ops);
	}
	assert_true(!party_home.ran_here || !party_away.started);
}

static void test_faults(void **state)
{
	const char *rounds = getenv("EHS_ROUNDS");
	uint64_t wanted = rounds ? strtoull(rounds, NULL, 0) : 1000000, jobs = 0;

	random_begin();
	for (int i = 0; i < 2; i++) {
		job.ends[i].memory = malloc(JOB_MEMORY);
		assert_non_null(job.ends[i].memory);
	}
	party_expect = malloc(EXPECT);
	party_arrived = malloc(EXPECT);
	assert_non_null(party_expect);
	assert_non_null(party_arrived);
	for (; job.breaks + job.odd + job.longs + job.kills < wanted; jobs++)
		one_job();
	printf("# %llu faults in %llu jobs: %llu breaks, %llu late or double, %llu long, %llu kills\n",
	       (unsigned long long)(job.breaks + job.odd + job.longs + job.kills),
	       (unsigned long long)jobs, (unsigned long long)job.breaks,
	       (unsigned long long)job.odd, (unsigned long long)job.longs,
	       (unsigned long long)job.kills);
	printf("# %llu finished, %llu lost, %llu run at home, %llu times none, %llu MiB\n",
	       (unsigned long long)job.finished, (unsigned long long)job.lost_jobs,
	       (unsigned long long)job.local_runs, (unsigned long long)job.nones,
	       (unsigned long long)(job.bytes_all >> 20));
	/* it is not a test if all fail early */
	if (wanted >= 100000)
		assert_true(job.finished > jobs / 10 && job.lost_jobs > 20 && job.local_runs > 20 &&
			    job.nones > 20);
	for (int i = 0; i < 2; i++)
		free(job.ends[i].memory);
	free(party_expect);
	free(party_arrived);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_faults) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
