// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of request.c: many execs, their places and the breaker. */

#include <linux/errno.h>
#include <linux/string.h>

#include "request_scene.h"

/* ---- places */

/* @n execs of a bucket that wait for the present agent, beside the one of the scene. */
static struct ehs_request *ehs_request_crowd(struct ehs_request_scene *s, u32 bucket, int n)
{
	struct ehs_request *reqs = kunit_kcalloc(s->test, n, sizeof(*reqs), GFP_KERNEL);
	bool *woken = kunit_kcalloc(s->test, n, sizeof(*woken), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(s->test, reqs);
	KUNIT_ASSERT_NOT_NULL(s->test, woken);
	for (i = 0; i < n; i++) {
		ehs_request_init(&reqs[i], ehs_request_scene_cookie(i, bucket), "/bin/true");
		reqs[i].task = (struct task_struct *)&woken[i];
		KUNIT_EXPECT_TRUE(s->test, ehs_request_scene_add(s, &s->first, &reqs[i]));
	}
	return reqs;
}

/* How many of them run here for this reason, and were woken. */
static int ehs_request_ended(struct ehs_request *reqs, int n, u32 reason)
{
	int ended = 0;

	while (n--)
		ended += reqs[n].over && reqs[n].reason == reason && *(bool *)reqs[n].task;
	return ended;
}

static void ehs_request_no_place(struct ehs_request_scene *s, u32 bucket)
{
	ehs_request_begin(s);
	s->req.bucket = bucket;
	ehs_request_stays(s, &s->first, EHS_REASON_QUEUE_FULL);
	KUNIT_EXPECT_EQ(s->test, s->sent, 0);
}

static void ehs_request_a_place(struct ehs_request_scene *s, u32 bucket)
{
	ehs_request_begin(s);
	s->req.bucket = bucket;
	KUNIT_EXPECT_TRUE(s->test, ehs_request_scene_add(s, &s->first, &s->req));
	/* gives it back at once */
	ehs_request_scene_unsent(s, -ENOMEM);
}

/* An eighth of the places for a user, and all of them for all. */
static void ehs_request_places(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;
	struct ehs_request *reqs[8];
	u32 bucket;
	int i;

	for (bucket = 0; bucket < 8; bucket++) {
		reqs[bucket] = ehs_request_crowd(s, bucket, 127);
		ehs_request_a_place(s, bucket);
	}
	for (bucket = 0; bucket < 8; bucket++) {
		ehs_request_a_place(s, 8);
		ehs_request_crowd(s, bucket, 1);
		/* others do not matter to this one, nor it to them, while there are places */
		ehs_request_no_place(s, bucket);
	}
	KUNIT_EXPECT_EQ(test, s->node.nr_requests, 1024);
	ehs_request_no_place(s, 8);
	/* a verdict gives its place back, to the user and to all */
	KUNIT_EXPECT_EQ(test,
			ehs_request_reply(s, &s->first, reqs[3][5].cookie, EHS_VERDICT_LOCAL,
					  EHS_REASON_NO_RECEIVER),
			0);
	ehs_request_a_place(s, 3);
	ehs_request_a_place(s, 8);
	ehs_request_no_place(s, 2);
	ehs_request_end_agent(s);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, ehs_request_ended(reqs[i], 127, EHS_REASON_AGENT_GONE),
				i == 3 ? 126 : 127);
}

/*
 * Execs that are killed while they wait have a place until the agent has read their
 * requests, or time has passed.
 */
static void ehs_request_unread(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;
	const u32 bucket = 3;
	struct ehs_request *reqs = ehs_request_crowd(s, bucket, 128);
	int i;

	for (i = 0; i < 128; i++)
		ehs_request_give_up(&s->node, &reqs[i], EHS_REASON_KILLED);
	KUNIT_EXPECT_EQ(test, s->node.nr_requests, 0);
	ehs_request_no_place(s, bucket);
	ehs_request_a_place(s, bucket + 1);
	/* read: so late that nobody waits; for the second time it is another's at most */
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test,
				ehs_request_reply(s, &s->first, reqs[5].cookie, EHS_VERDICT_LOCAL,
						  EHS_REASON_NO_RECEIVER),
				-ENOENT);
	ehs_request_crowd(s, bucket, 2);
	ehs_request_no_place(s, bucket);
	/* never read */
	s->now += 2 * EHS_UNREAD_NS;
	ehs_request_a_place(s, bucket);
	ehs_request_end_agent(s);
}

/* All users together have the places that there are, read or not. */
static void ehs_request_unread_of_all(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;
	struct ehs_request *reqs;
	u32 bucket;
	int i;

	for (bucket = 0; bucket < 8; bucket++) {
		reqs = ehs_request_crowd(s, bucket, 128);
		for (i = 0; i < 128; i++)
			ehs_request_give_up(&s->node, &reqs[i], EHS_REASON_KILLED);
	}
	ehs_request_no_place(s, 8);
	/* another agent has read nothing yet, and has nothing to read */
	RCU_INIT_POINTER(s->node.agent, &s->second);
	ehs_request_begin(s);
	KUNIT_EXPECT_TRUE(test, ehs_request_scene_add(s, &s->second, &s->req));
	ehs_request_end_agent(s);
}

/* A user has one place at least; a bound that was lowered ends nothing. */
static void ehs_request_few_places(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;

	s->node.set.max_requests = 3;
	ehs_request_crowd(s, 1, 1);
	ehs_request_no_place(s, 1);
	ehs_request_crowd(s, 2, 1);
	ehs_request_crowd(s, 3, 1);
	ehs_request_no_place(s, 4);
	s->node.set.max_requests = 1;
	KUNIT_EXPECT_EQ(test, s->node.nr_requests, 3);
	ehs_request_no_place(s, 4);
	ehs_request_end_agent(s);
}

/* One that is handed over keeps its place, also where there is none left. */
static void ehs_request_handed_when_full(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;

	s->node.set.max_requests = 1;
	s->during = ehs_request_during_second;
	KUNIT_EXPECT_FALSE(test, ehs_request_ask(&s->node, &s->first, &s->req));
	s->during = ehs_request_during_local;
	ehs_request_stays(s, &s->second, EHS_REASON_NO_RECEIVER);
}

/* ---- breaker */

/* Execs of the scene's user wait in vain until the agent is not asked any more. */
static void ehs_request_open_breaker(struct ehs_request_scene *s)
{
	int i;

	s->during = NULL;
	for (i = 0; i < EHS_BREAKER_MISSES; i++) {
		ehs_request_begin(s);
		ehs_request_stays(s, &s->first, EHS_REASON_TIME_OUT);
	}
}

static void ehs_request_slow(struct ehs_request_scene *s)
{
	ehs_request_begin(s);
	ehs_request_stays(s, &s->first, EHS_REASON_AGENT_SLOW);
	KUNIT_EXPECT_EQ(s->test, s->sent, 0);
}

/* A user whose execs wait in vain: his others go on at once, and none of another user's does. */
static void ehs_request_breaker(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;
	u32 bucket = s->req.bucket, other = (bucket + 1) % EHS_BUCKETS;
	struct ehs_request *his = ehs_request_crowd(s, bucket, 5);
	struct ehs_request *theirs = ehs_request_crowd(s, other, 5);

	ehs_request_open_breaker(s);
	KUNIT_EXPECT_EQ(test, ehs_request_ended(his, 5, EHS_REASON_AGENT_SLOW), 5);
	KUNIT_EXPECT_EQ(test, s->node.nr_requests, 5);
	KUNIT_EXPECT_EQ(test, s->node.nr_requests_of[other], 5);
	ehs_request_slow(s);
	ehs_request_a_place(s, other);
	ehs_request_end_agent(s);
	KUNIT_EXPECT_EQ(test, ehs_request_ended(theirs, 5, EHS_REASON_AGENT_GONE), 5);
}

static void ehs_request_during_try(struct ehs_request_scene *s)
{
	struct ehs_request *other = kunit_kzalloc(s->test, sizeof(*other), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(s->test, other);
	KUNIT_EXPECT_TRUE(s->test, s->req.try);
	ehs_request_init(other, COOKIE, "/bin/true");
	KUNIT_EXPECT_FALSE(s->test, ehs_request_scene_add(s, &s->first, other));
	KUNIT_EXPECT_EQ(s->test, other->reason, EHS_REASON_AGENT_SLOW);
}

static void ehs_request_during_try_killed(struct ehs_request_scene *s)
{
	ehs_request_during_try(s);
	s->signal = true;
}

static void ehs_request_during_try_answered(struct ehs_request_scene *s)
{
	ehs_request_during_try(s);
	KUNIT_EXPECT_EQ(s->test, ehs_request_reply_local(s, &s->first), 0);
}

/* The next exec of the user tries after a late answer; but once only. */
static void ehs_request_late(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;
	u32 other = (s->req.bucket + 1) % EHS_BUCKETS;

	ehs_request_open_breaker(s);
	KUNIT_EXPECT_EQ(test,
			ehs_request_reply(s, &s->first, ehs_request_scene_cookie(7, other),
					  EHS_VERDICT_LOCAL, EHS_REASON_NO_RECEIVER),
			-ENOENT);
	ehs_request_slow(s);
	KUNIT_EXPECT_EQ(test, ehs_request_reply_local(s, &s->first), -ENOENT);
	ehs_request_begin(s);
	s->during = ehs_request_during_try;
	ehs_request_stays(s, &s->first, EHS_REASON_TIME_OUT);
	s->during = NULL;
	KUNIT_EXPECT_EQ(test, ehs_request_reply_local(s, &s->first), -ENOENT);
	ehs_request_slow(s);
}

/* After the pause one exec tries; the others go on at once until it has an answer. */
static void ehs_request_one_tries(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;

	ehs_request_open_breaker(s);
	s->now += LIMIT_NS * EHS_BREAKER_LIMITS;
	/* it cannot find out, so the next one tries */
	ehs_request_begin(s);
	s->during = ehs_request_during_try_killed;
	ehs_request_stays(s, &s->first, EHS_REASON_KILLED);
	s->signal = false;
	/* in vain: the agent is left alone for longer */
	ehs_request_begin(s);
	s->during = ehs_request_during_try;
	ehs_request_stays(s, &s->first, EHS_REASON_TIME_OUT);
	s->during = NULL;
	ehs_request_slow(s);
	s->now += EHS_BREAKER_MAX_NS;
	/* it answers: all may ask */
	ehs_request_begin(s);
	s->during = ehs_request_during_try_answered;
	ehs_request_stays(s, &s->first, EHS_REASON_NO_RECEIVER);
	ehs_request_begin(s);
	s->during = ehs_request_during_local;
	ehs_request_stays(s, &s->first, EHS_REASON_NO_RECEIVER);
	KUNIT_EXPECT_FALSE(test, s->req.try);
}

/* The one that tries is handed over: another socket begins without a past, and is not tried. */
static void ehs_request_try_is_handed(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;

	ehs_request_open_breaker(s);
	s->now += LIMIT_NS * EHS_BREAKER_LIMITS;
	ehs_request_begin(s);
	s->during = ehs_request_during_second;
	KUNIT_EXPECT_FALSE(test, ehs_request_ask(&s->node, &s->first, &s->req));
	KUNIT_EXPECT_FALSE(test, s->req.try);
	s->during = NULL;
	ehs_request_stays(s, &s->second, EHS_REASON_TIME_OUT);
	KUNIT_EXPECT_EQ(test, s->second.breakers[s->req.bucket].misses, 0);
}

/* ---- the end of the module */

static void ehs_request_during_stop(struct ehs_request_scene *s)
{
	ehs_request_stop();
}

static void ehs_request_unloading(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;
	struct ehs_request *reqs = ehs_request_crowd(s, 1, 5);

	s->during = ehs_request_during_stop;
	ehs_request_stays(s, &s->first, EHS_REASON_UNLOADING);
	KUNIT_EXPECT_EQ(test, ehs_request_ended(reqs, 5, EHS_REASON_UNLOADING), 5);
	ehs_request_begin(s);
	ehs_request_stays(s, &s->first, EHS_REASON_UNLOADING);
	KUNIT_EXPECT_EQ(test, s->sent, 0);
	ehs_request_start();
	ehs_request_begin(s);
	s->during = ehs_request_during_local;
	ehs_request_stays(s, &s->first, EHS_REASON_NO_RECEIVER);
}

static struct kunit_case ehs_crowd_cases[] = {
	KUNIT_CASE(ehs_request_places),
	KUNIT_CASE(ehs_request_unread),
	KUNIT_CASE(ehs_request_unread_of_all),
	KUNIT_CASE(ehs_request_few_places),
	KUNIT_CASE(ehs_request_handed_when_full),
	KUNIT_CASE(ehs_request_breaker),
	KUNIT_CASE(ehs_request_late),
	KUNIT_CASE(ehs_request_one_tries),
	KUNIT_CASE(ehs_request_try_is_handed),
	KUNIT_CASE(ehs_request_unloading),
	{},
};

struct kunit_suite ehs_crowd_suite = {
	.name = "ehsched_crowd",
	.init = ehs_request_scene_init,
	.exit = ehs_request_scene_exit,
	.test_cases = ehs_crowd_cases,
};
