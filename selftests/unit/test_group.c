// SPDX-License-Identifier: GPL-2.0-or-later
/* The rules of one group, one by one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "group_steps.h"
#include "random.h"

static void test_bad_events(void **state)
{
	struct eh_group *group;
	uint64_t big = EH_VALUE_MAX + 1;
	const struct eh_event bad[] = {
		{ .type = EH_EV_JOIN, .child = 4, .join.capacity = 1 },
		{ .type = EH_EV_JOIN, .child = ~0u, .join.capacity = 1 },
		{ .type = EH_EV_JOIN, .child = 1, .join.capacity = 0 },
		{ .type = EH_EV_JOIN, .child = 1, .join.capacity = big },
		{ .type = EH_EV_JOIN, .child = 1, .join.capacity = 1, .join.load = big },
		{ .type = EH_EV_JOIN, .child = 1, .join.capacity = 1, .join.threshold = big },
		{ .type = EH_EV_JOIN, .child = 1, .join.capacity = 1, .join.length = big },
		{ .type = EH_EV_JOIN, .child = 1, .join.capacity = 1, .join.floor = UINT64_MAX },
		{ .type = EH_EV_LEAVE, .child = 1 },
		{ .type = EH_EV_DRAIN, .child = 1 },
		{ .type = EH_EV_REPORT, .child = 1 },
		{ .type = EH_EV_REPORT, .child = 0, .report.load = big },
		{ .type = EH_EV_ARRIVE, .child = 1 },
		{ .type = EH_EV_ARRIVE, .child = 0, .arrive.size = UINT64_MAX },
		{ .type = EH_EV_FAILED, .child = 3 },
		{ .type = EH_EV_FAILED, .child = 4 },
		{ .type = EH_EV_TICK + 1, .child = 0 },
	};

	assert_null(eh_group_new(&(struct eh_group_options){ .n = EH_N_MAX + 1 }));
	eh_group_free(NULL);
	group = group_new(2, 1000, true);
	group_join(group, 0, 9000, 2000, 1000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (group_step(group, bad[i], 5) != -EINVAL || group_nupdates)
			fail_msg("event %zu was taken", i);
		assert_int_equal(group_load(group, 0), 9000);
		assert_int_equal(group_threshold(group, 0), 2000);
	}
	eh_group_free(group);
}

static void count_updates(void *ctx, const struct eh_update *update)
{
	unsigned int *counts = ctx;

	counts[update->type]++;
}

/* The largest values: no sum, share or comparison wraps. */
static void test_extremes(void **state)
{
	struct eh_group *group = group_new(EH_N_MAX, 1000, true);
	struct eh_event e = { .type = EH_EV_JOIN,
			      .join.load = EH_VALUE_MAX,
			      .join.threshold = 1000,
			      .join.length = 1000,
			      .join.capacity = EH_VALUE_MAX };
	unsigned int updates[EH_UP_THRESHOLD + 1] = { 0 };
	struct eh_sums sums;

	for (e.child = 0; e.child < 1u << EH_N_MAX; e.child++)
		assert_int_equal(eh_group_step(group, &e, 0, count_updates, updates), 0);
	eh_group_sums(group, &sums);
	assert_int_equal(sums.load, EH_VALUE_MAX << EH_N_MAX);
	assert_int_equal(sums.state, EH_SENDER);
	e = (struct eh_event){
		.type = EH_EV_ARRIVE, .child = 0, .arrive.id = 1, .arrive.size = EH_VALUE_MAX
	};
	memset(updates, 0, sizeof(updates));
	assert_int_equal(eh_group_step(group, &e, 0, count_updates, updates), 0);
	assert_int_equal(updates[EH_UP_THRESHOLD], 1u << EH_N_MAX);
	assert_int_equal(updates[EH_UP_NONE], 1);
	assert_int_equal(updates[EH_UP_PLACE], 0);
	assert_int_equal(group_load(group, 1), EH_VALUE_MAX);
	assert_true(group_threshold(group, 1) >= EH_VALUE_MAX);
	eh_group_sums(group, &sums);
	assert_int_equal(sums.state, EH_OK);
	eh_group_free(group);
}

/* A child is not given more than can be counted. */
static void test_full(void **state)
{
	const struct eh_event ask = { .type = EH_EV_ARRIVE,
				      .arrive.id = 1,
				      .arrive.size = EH_VALUE_MAX };
	struct eh_group *group = group_new(1, 1000, true);

	group_join(group, 0, 9000, 0, 0);
	group_join(group, 1, 1, EH_VALUE_MAX, 0);
	group_must(group, ask, 0);
	assert_non_null(group_update(EH_UP_NONE));
	group_must(group, (struct eh_event){ .type = EH_EV_REPORT, .child = 1, .report.load = 0 },
		   0);
	group_must(group, ask, 0);
	assert_non_null(group_update(EH_UP_PLACE));
	eh_group_free(group);
}

/* Of equals each is taken equally often, or one node would be filled and another starved. */
static void test_ties(void **state)
{
	for (int least = 0; least < 2; least++) {
		struct eh_group *group = eh_group_new(&(struct eh_group_options){
			.n = 3, .least = least, .grant_ms = 1000, .calm_ms = 1000, .seed = 42 });
		unsigned int count[8] = { 0 };
		double chi2 = 0;

		assert_non_null(group);
		for (unsigned int i = 0; i < 8; i++)
			group_join(group, i, i ? 0 : 9000, 2000, 1000);
		for (uint64_t id = 1; id <= 7000; id++) {
			const struct eh_update *up;

			group_must(group,
				   (struct eh_event){ .type = EH_EV_ARRIVE,
						      .child = 0,
						      .arrive.id = id,
						      .arrive.size = 1000 },
				   0);
			up = group_update(EH_UP_PLACE);
			assert_non_null(up);
			count[up->child]++;
			group_must(group,
				   (struct eh_event){ .type = EH_EV_FAILED,
						      .child = up->child,
						      .failed.id = id },
				   0);
		}
		assert_int_equal(count[0], 0);
		for (unsigned int i = 1; i < 8; i++)
			chi2 += (count[i] - 1000.0) * (count[i] - 1000.0) / 1000;
		/* six degrees of freedom: above 22.5 in one of a thousand seeds */
		assert_true(chi2 < 22.5);
		eh_group_free(group);
	}
}

/* A burst is spread: what was just placed counts before anybody has reported it. */
static void test_burst(void **state)
{
	struct eh_group *group = group_new(3, 1000, true);
	unsigned int count[8] = { 0 };

	for (unsigned int i = 0; i < 8; i++)
		group_join(group, i, i ? 0 : 40000, 6000, 1000);
	for (uint64_t id = 1; id <= 35; id++) {
		group_must(group,
			   (struct eh_event){ .type = EH_EV_ARRIVE,
					      .child = 0,
					      .arrive.id = id,
					      .arrive.size = 1000 },
			   0);
		assert_non_null(group_update(EH_UP_PLACE));
		count[group_update(EH_UP_PLACE)->child]++;
	}
	for (unsigned int i = 1; i < 8; i++)
		assert_int_equal(count[i], 5);
	eh_group_free(group);
}

/* One that is to leave home does so whatever home's load, but goes to nobody who is overloaded. */
static void test_leaves(void **state)
{
	struct eh_group *group = group_new(2, 1000, true);
	struct eh_event ask = { .type = EH_EV_ARRIVE, .arrive.id = 1, .arrive.size = 1000 };

	group_join(group, 0, 0, 2000, 1000);
	group_join(group, 1, 2000, 2000, 1000);
	group_must(group, ask, 0);
	assert_true(group_update(EH_UP_NONE)->calm);
	ask.arrive.id++;
	ask.arrive.leaves = true;
	group_must(group, ask, 0);
	assert_int_equal(group_update(EH_UP_PLACE)->child, 1);
	assert_int_equal(group_load(group, 1), 3000);
	/* until that one is a sender, too; nobody's threshold changes for it: the group is none */
	ask.arrive.id++;
	group_must(group, ask, 0);
	assert_int_equal(group_update(EH_UP_PLACE)->child, 1);
	ask.arrive.id++;
	group_must(group, ask, 0);
	assert_non_null(group_update(EH_UP_NONE));
	assert_false(group_update(EH_UP_NONE)->calm);
	assert_null(group_update(EH_UP_THRESHOLD));
	/* its home is alone */
	group_must(group, (struct eh_event){ .type = EH_EV_LEAVE, .child = 1 }, 0);
	ask.arrive.id++;
	group_must(group, ask, 0);
	assert_false(group_update(EH_UP_NONE)->calm);
	eh_group_free(group);
}

static void report_dwell(struct eh_group *group, unsigned int child, uint64_t load, bool dwell)
{
	group_must(group,
		   (struct eh_event){ .type = EH_EV_REPORT,
				      .child = child,
				      .report.load = load,
				      .report.dwell = dwell },
		   0);
}

static unsigned int place(struct eh_group *group, uint64_t id)
{
	group_must(group,
		   (struct eh_event){
			   .type = EH_EV_ARRIVE, .child = 0, .arrive.id = id, .arrive.size = 1000 },
		   0);
	assert_non_null(group_update(EH_UP_PLACE));
	return group_update(EH_UP_PLACE)->child;
}

/* A child that dwells is ok, however low its load, and its load is added up as it is. */
static void test_dwell(void **state)
{
	struct eh_group *group = group_new(2, 1000, true);
	struct eh_sums sums;
	struct eh_child c;

	group_join(group, 0, 4000, 2000, 1000);
	group_join(group, 1, 0, 2000, 1000);
	group_join(group, 2, 0, 2000, 1000);
	report_dwell(group, 1, 0, true);
	report_dwell(group, 2, 900, false);
	assert_int_equal(eh_group_child(group, 1, &c), 0);
	assert_int_equal(c.state, EH_OK);
	assert_int_equal(c.own.load, 0);
	assert_int_equal(place(group, 1), 2);
	/* 2 is ok with that task, and 1 is the least loaded that is */
	assert_int_equal(place(group, 2), 1);
	group_must(group, (struct eh_event){ .type = EH_EV_FAILED, .child = 1, .failed.id = 2 }, 0);
	report_dwell(group, 1, 0, false);
	assert_int_equal(place(group, 3), 1);

	/* of a group: below its threshold only by those that dwell */
	group_must(group, (struct eh_event){ .type = EH_EV_FAILED, .child = 1, .failed.id = 3 }, 0);
	group_must(group, (struct eh_event){ .type = EH_EV_FAILED, .child = 2, .failed.id = 1 }, 0);
	report_dwell(group, 0, 1000, false);
	report_dwell(group, 1, 0, true);
	report_dwell(group, 2, 500, true);
	eh_group_sums(group, &sums);
	assert_int_equal(sums.load, 1500);
	assert_true(sums.dwell);
	assert_int_equal(sums.state, EH_OK);
	report_dwell(group, 2, 500, false);
	eh_group_sums(group, &sums);
	assert_int_equal(sums.load, 1500);
	assert_false(sums.dwell);
	assert_int_equal(sums.state, EH_RECEIVER);
	/* a sender is one whoever dwells, and none is made by that */
	report_dwell(group, 1, 4001, true);
	assert_int_equal(eh_group_child(group, 1, &c), 0);
	assert_int_equal(c.state, EH_SENDER);
	report_dwell(group, 0, 8400, false);
	report_dwell(group, 1, 0, true);
	eh_group_sums(group, &sums);
	assert_int_equal(sums.load, 8900);
	assert_int_equal(sums.state, EH_OK);
	eh_group_free(group);
}

/* Seen, failed, expired, asked again, left: each takes a grant back exactly once. */
static void test_grants(void **state)
{
	struct eh_group *group = group_new(1, 100, true);
	const struct eh_event ask = {
		.type = EH_EV_ARRIVE, .child = 0, .arrive.id = 7, .arrive.size = 1500
	};
	uint64_t seen = 7;

	group_join(group, 0, 9000, 2000, 1000);
	group_join(group, 1, 0, 9000, 0);
	group_must(group, ask, 0);
	assert_int_equal(group_load(group, 1), 1500);
	group_must(group, ask, 1); /* again: not counted twice */
	assert_int_equal(group_load(group, 1), 1500);
	group_must(group, (struct eh_event){ .type = EH_EV_FAILED, .child = 0, .failed.id = 7 }, 2);
	assert_int_equal(group_load(group, 1), 1500); /* not that child's */
	group_must(group, (struct eh_event){ .type = EH_EV_FAILED, .child = 1, .failed.id = 7 }, 3);
	assert_int_equal(group_load(group, 1), 0);
	group_must(group, ask, 10);
	group_must(group,
		   (struct eh_event){ .type = EH_EV_REPORT,
				      .child = 1,
				      .report.load = 1400,
				      .report.seen = &seen,
				      .report.nseen = 1 },
		   11);
	assert_int_equal(group_load(group, 1), 1400);
	group_must(group,
		   (struct eh_event){ .type = EH_EV_REPORT,
				      .child = 1,
				      .report.load = 0,
				      .report.seen = &seen,
				      .report.nseen = 1 },
		   12);
	assert_int_equal(group_load(group, 1), 0);
	group_must(group, ask, 20);
	group_must(group, (struct eh_event){ .type = EH_EV_TICK }, 119);
	assert_int_equal(group_load(group, 1), 1500);
	group_must(group, (struct eh_event){ .type = EH_EV_TICK }, 120);
	assert_int_equal(group_load(group, 1), 0);
	group_must(group, ask, 130);
	group_must(group, (struct eh_event){ .type = EH_EV_LEAVE, .child = 1 }, 131);
	group_join(group, 1, 0, 9000, 0);
	assert_int_equal(group_load(group, 1), 0);
	eh_group_free(group);
}

/* Lowered when the load has stayed low for grant_ms, not by a short dip, and not again and again. */
static void test_finish_rule(void **state)
{
	struct eh_group *group = group_new(2, 100, true);
	uint64_t now = 0;

	for (unsigned int i = 0; i < 4; i++)
		group_join(group, i, 8000, 8000, 1000);
	/* T - L = 4 tasks is not more than the members; 4.001 is */
	group_must(group,
		   (struct eh_event){ .type = EH_EV_REPORT, .child = 0, .report.load = 4000 }, now);
	group_must(group, (struct eh_event){ .type = EH_EV_TICK }, now += 1000);
	assert_null(group_update(EH_UP_THRESHOLD));
	group_must(group,
		   (struct eh_event){ .type = EH_EV_REPORT, .child = 0, .report.load = 3999 },
		   now += 1);
	group_must(group, (struct eh_event){ .type = EH_EV_TICK }, now + 99);
	assert_null(group_update(EH_UP_THRESHOLD));
	/* a dip */
	group_must(group,
		   (struct eh_event){ .type = EH_EV_REPORT, .child = 0, .report.load = 8000 },
		   now + 99);
	group_must(group,
		   (struct eh_event){ .type = EH_EV_REPORT, .child = 0, .report.load = 3999 },
		   now += 100);
	group_must(group, (struct eh_event){ .type = EH_EV_TICK }, now + 99);
	assert_null(group_update(EH_UP_THRESHOLD));
	group_must(group, (struct eh_event){ .type = EH_EV_TICK }, now += 100);
	assert_non_null(group_update(EH_UP_THRESHOLD));
	assert_int_equal(group_threshold(group, 0), 7000);
	assert_int_equal(group_threshold(group, 3), 7000);
	for (int i = 0; i < 100; i++) {
		group_must(group, (struct eh_event){ .type = EH_EV_TICK }, now += 50);
		assert_null(group_update(EH_UP_THRESHOLD));
	}
	eh_group_free(group);
}

/* Where the floors leave nothing to lower an idle group stays silent. */
static void test_floor(void **state)
{
	struct eh_group *group = group_new(1, 0, true);

	for (unsigned int i = 0; i < 2; i++)
		group_must(group,
			   (struct eh_event){ .type = EH_EV_JOIN,
					      .child = i,
					      .join.threshold = 4000,
					      .join.length = 1000,
					      .join.floor = 4000,
					      .join.capacity = 1000 },
			   0);
	for (uint64_t now = 1; now < 50; now++) {
		group_must(group, (struct eh_event){ .type = EH_EV_TICK }, now);
		assert_int_equal(group_nupdates, 0);
	}
	assert_int_equal(group_threshold(group, 0), 4000);
	eh_group_free(group);
}

/* A load that swings makes changes only with each large swing: one up, one down. */
static void test_no_flapping(void **state)
{
	struct eh_group *group = group_new(2, 100, true);
	unsigned int changes = 0;
	uint64_t now = 0;

	for (unsigned int i = 0; i < 4; i++)
		group_join(group, i, 0, 0, 1000);
	for (int i = 0; i < 2000; i++) {
		/* between 16 and 20 tasks, below a task for each member up and down */
		uint64_t load = i % 7 < 3 ? 4100 : 5000;

		for (unsigned int c = 0; c < 4; c++)
			group_must(group,
				   (struct eh_event){
					   .type = EH_EV_REPORT, .child = c, .report.load = load },
				   now += 10);
		group_must(
			group,
			(struct eh_event){ .type = EH_EV_ARRIVE, .child = i % 4, .arrive.id = i },
			now);
		changes += group_update(EH_UP_THRESHOLD) != NULL;
		group_must(group, (struct eh_event){ .type = EH_EV_TICK }, now);
		changes += group_update(EH_UP_THRESHOLD) != NULL;
	}
	assert_true(changes <= 2);
	eh_group_free(group);
}

/* A story of one small cluster, word for word. */
static char story[4096];

static void tell(struct eh_group *group, uint64_t now, const char *what, struct eh_event e)
{
	size_t at = strlen(story);

	group_must(group, e, now);
	at += sprintf(story + at, "%llu %s:", (unsigned long long)now, what);
	for (unsigned int i = 0; i < group_nupdates; i++) {
		const struct eh_update *u = &group_updates[i];

		if (u->type == EH_UP_PLACE)
			at += sprintf(story + at, " place %u on %u (%u, %u probes)",
				      (unsigned)u->id, u->child, u->found, u->probes);
		else if (u->type == EH_UP_NONE)
			at += sprintf(story + at, " %u stays", (unsigned)u->id);
		else if (u->type == EH_UP_THRESHOLD)
			at += sprintf(story + at, " T%u=%u@%u", u->child, (unsigned)u->threshold,
				      (unsigned)u->epoch);
	}
	sprintf(story + at, "\n");
}

#define EV(...) ((struct eh_event){ __VA_ARGS__ })
#define JOINS(c, l)                                                                \
	EV(.type = EH_EV_JOIN, .child = c, .join.load = l, .join.threshold = 2000, \
	   .join.length = 1000, .join.floor = 2000, .join.capacity = 2000)
#define ASKS(c, i, ...) \
	EV(.type = EH_EV_ARRIVE, .child = c, .arrive.id = i, .arrive.size = 1000, __VA_ARGS__)
#define REPORTS(c, l, ...) EV(.type = EH_EV_REPORT, .child = c, .report.load = l, __VA_ARGS__)

static void test_story(void **state)
{
	struct eh_group *group = group_new(2, 1000, true);
	static const uint64_t one = 1, refused = 1 << 2;

	story[0] = '\0';
	tell(group, 0, "0 joins", JOINS(0, 0));
	tell(group, 0, "1 joins", JOINS(1, 1000));
	tell(group, 0, "2 joins", JOINS(2, 0));
	tell(group, 10, "0 asks, but is no sender", ASKS(0, 1));
	tell(group, 20, "0 has 4 tasks", REPORTS(0, 4000));
	tell(group, 21, "0 asks", ASKS(0, 1));
	tell(group, 22, "2 refused", EV(.type = EH_EV_FAILED, .child = 2, .failed.id = 1));
	tell(group, 22, "0 asks again", ASKS(0, 1, .arrive.tried = &refused));
	tell(group, 30, "1 has seen it", REPORTS(1, 2000, .report.seen = &one, .report.nseen = 1));
	tell(group, 40, "2 drains", EV(.type = EH_EV_DRAIN, .child = 2, .drain.draining = true));
	tell(group, 41, "0 asks", ASKS(0, 2));
	tell(group, 42, "0 asks", ASKS(0, 3));
	tell(group, 50, "2 is back", EV(.type = EH_EV_DRAIN, .child = 2));
	tell(group, 51, "0 asks", ASKS(0, 4));
	tell(group, 60, "0 has 9 tasks", REPORTS(0, 9000));
	tell(group, 61, "0 asks, all are senders", ASKS(0, 5));
	tell(group, 70, "1 is gone", EV(.type = EH_EV_LEAVE, .child = 1));
	tell(group, 80, "0 is idle", REPORTS(0, 0));
	tell(group, 1080, "time", EV(.type = EH_EV_TICK));
	tell(group, 2100, "time", EV(.type = EH_EV_TICK));
	assert_string_equal(
		story,
		"0 0 joins:\n"
		"0 1 joins:\n"
		"0 2 joins:\n"
		"10 0 asks, but is no sender: 1 stays\n"
		"20 0 has 4 tasks:\n"
		"21 0 asks: place 1 on 2 (0, 1 probes)\n"
		"22 2 refused:\n"
		"22 0 asks again: place 1 on 1 (1, 1 probes)\n"
		"30 1 has seen it:\n"
		"40 2 drains:\n"
		"41 0 asks: place 2 on 1 (1, 1 probes)\n"
		"42 0 asks: place 3 on 1 (1, 1 probes)\n"
		"50 2 is back:\n"
		"51 0 asks: place 4 on 2 (0, 1 probes)\n"
		"60 0 has 9 tasks:\n"
		"61 0 asks, all are senders: T0=5000@1 T1=5000@1 T2=5000@1 place 5 on 2 (0, 2 probes)\n"
		"70 1 is gone:\n"
		"80 0 is idle:\n"
		"1080 time: T0=2000@2 T2=2000@2\n"
		"2100 time:\n");
	eh_group_free(group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_events), cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_full),	   cmocka_unit_test(test_ties),
		cmocka_unit_test(test_burst),	   cmocka_unit_test(test_dwell),
		cmocka_unit_test(test_grants),	   cmocka_unit_test(test_finish_rule),
		cmocka_unit_test(test_floor),	   cmocka_unit_test(test_no_flapping),
		cmocka_unit_test(test_story),	   cmocka_unit_test(test_leaves),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
