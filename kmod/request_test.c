// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of request.c: one exec, its agents and its time. */

#include <linux/errno.h>
#include <linux/string.h>

#include "request_scene.h"

/* ---- verdicts */

static void ehs_request_local(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;

	s->during = ehs_request_during_local;
	ehs_request_stays(s, &s->first, EHS_REASON_NO_RECEIVER);
	KUNIT_EXPECT_PTR_EQ(test, s->asked, (const struct ehs_agent *)&s->first);
	KUNIT_EXPECT_EQ(test, s->limit, LIMIT_MS);
	KUNIT_EXPECT_EQ(test, s->sent, 1);
	KUNIT_EXPECT_EQ(test, s->waits, 1);
}

static void ehs_request_reply_remote(struct ehs_request_scene *s)
{
	KUNIT_EXPECT_EQ(s->test, ehs_request_reply_away(s, COOKIE), 0);
}

static void ehs_request_remote(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;

	/* before the exec can sleep */
	s->sending = ehs_request_reply_remote;
	KUNIT_EXPECT_TRUE(test, ehs_request_ask(&s->node, &s->first, &s->req));
	KUNIT_EXPECT_EQ(test, s->req.verdict, EHS_VERDICT_REMOTE);
	KUNIT_EXPECT_EQ(test, s->req.reason, EHS_REASON_SENDER);
	KUNIT_EXPECT_STREQ(test, (const char *)s->req.token, "token");
	KUNIT_EXPECT_EQ(test, s->waits, 0);
}

static void ehs_request_during_foreign(struct ehs_request_scene *s)
{
	KUNIT_EXPECT_EQ(s->test, ehs_request_reply_local(s, &s->second), -EPERM);
	/* in the same chain of the table, and in another */
	KUNIT_EXPECT_EQ(s->test, ehs_request_reply_away(s, COOKIE + 1), -ENOENT);
	KUNIT_EXPECT_EQ(s->test, s->node.nr_requests, 1);
}

/* Verdicts of others, and for others, decide nothing. */
static void ehs_request_foreign(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;

	s->during = ehs_request_during_foreign;
	ehs_request_stays(s, &s->first, EHS_REASON_TIME_OUT);
}

/* ---- time and signals */

static void ehs_request_time(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;
	u64 from = s->now;

	ehs_request_stays(s, &s->first, EHS_REASON_TIME_OUT);
	KUNIT_EXPECT_EQ(test, s->now - from, LIMIT_NS);
	KUNIT_EXPECT_EQ(test, s->req.started_at, from);
	KUNIT_EXPECT_EQ(test, s->waits, 1);
	KUNIT_EXPECT_EQ(test, s->first.breakers[s->req.bucket].misses, 1);
	/* too late */
	KUNIT_EXPECT_EQ(test, ehs_request_reply_local(s, &s->first), -ENOENT);
	KUNIT_EXPECT_EQ(test, s->req.reason, EHS_REASON_TIME_OUT);
}

/* The verdict comes when the wait is over, and before the exec has the lock. */
static void ehs_request_last_moment(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;

	s->during = ehs_request_during_local;
	s->woken_late = true;
	ehs_request_stays(s, &s->first, EHS_REASON_NO_RECEIVER);
	KUNIT_EXPECT_EQ(test, s->first.breakers[s->req.bucket].misses, 0);
	ehs_request_begin(s);
	s->signal = true;
	/* it has the signal before it is asked about */
	ehs_request_stays(s, &s->first, EHS_REASON_KILLED);
	KUNIT_EXPECT_EQ(test, s->sent, 0);
}

static void ehs_request_during_kill(struct ehs_request_scene *s)
{
	s->signal = true;
}

static void ehs_request_killed(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;

	s->during = ehs_request_during_kill;
	ehs_request_stays(s, &s->first, EHS_REASON_KILLED);
	KUNIT_EXPECT_EQ(test, s->waits, 1);
	/* nothing that the agent is to blame for */
	KUNIT_EXPECT_EQ(test, s->first.breakers[s->req.bucket].misses, 0);
	KUNIT_EXPECT_EQ(test, ehs_request_reply_local(s, &s->first), -ENOENT);
}

static void ehs_request_during_kill_and_reply(struct ehs_request_scene *s)
{
	s->signal = true;
	ehs_request_reply_remote(s);
}

/* The first to decide has decided. */
static void ehs_request_killed_late(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;

	s->during = ehs_request_during_kill_and_reply;
	s->woken_late = true;
	KUNIT_EXPECT_TRUE(test, ehs_request_ask(&s->node, &s->first, &s->req));
	KUNIT_EXPECT_EQ(test, s->req.verdict, EHS_VERDICT_REMOTE);
	ehs_request_give_up(&s->node, &s->req, EHS_REASON_KILLED);
	KUNIT_EXPECT_EQ(test, s->req.reason, EHS_REASON_SENDER);
}

/* ---- agents that end */

static void ehs_request_agent_gone(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;

	s->during = ehs_request_end_agent;
	ehs_request_stays(s, &s->first, EHS_REASON_AGENT_GONE);
	KUNIT_EXPECT_EQ(test, s->waits, 1);
	/* the exec has a reference to one that has gone meanwhile */
	ehs_request_begin(s);
	ehs_request_stays(s, &s->first, EHS_REASON_AGENT_GONE);
	KUNIT_EXPECT_EQ(test, s->sent, 0);
}

/* The agent does not get it: its socket is full or closed, or there is no memory. */
static void ehs_request_not_sent(struct kunit *test)
{
	static const struct {
		int err;
		u32 reason;
	} cases[] = {
		{ -EAGAIN, EHS_REASON_QUEUE_FULL },	  { -ENOBUFS, EHS_REASON_QUEUE_FULL },
		{ -ECONNREFUSED, EHS_REASON_AGENT_GONE }, { -ENOMEM, EHS_REASON_NO_MEMORY },
		{ -EMSGSIZE, EHS_REASON_NO_MEMORY },
	};
	struct ehs_request_scene *s = test->priv;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ehs_request_begin(s);
		s->send_error = cases[i].err;
		ehs_request_stays(s, &s->first, cases[i].reason);
		KUNIT_EXPECT_EQ(test, s->waits, 0);
	}
}

static void ehs_request_sending_second(struct ehs_request_scene *s)
{
	ehs_request_replace(s, &s->second, true);
}

/* It ends while it is sent the request, and another takes its place. */
static void ehs_request_not_sent_to_first(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;

	s->sending = ehs_request_sending_second;
	s->send_error = -ECONNREFUSED;
	KUNIT_EXPECT_FALSE(test, ehs_request_ask(&s->node, &s->first, &s->req));
	s->sending = NULL;
	s->send_error = 0;
	s->during = ehs_request_during_local;
	ehs_request_stays(s, &s->second, EHS_REASON_NO_RECEIVER);
	KUNIT_EXPECT_PTR_EQ(test, s->asked, (const struct ehs_agent *)&s->second);
}

/* ---- hand-over */

static void ehs_request_handed(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;

	s->during = ehs_request_during_second;
	KUNIT_EXPECT_FALSE(test, ehs_request_ask(&s->node, &s->first, &s->req));
	/* it still waits, and nobody may decide for the agent that comes */
	KUNIT_EXPECT_EQ(test, s->node.nr_requests, 1);
	KUNIT_EXPECT_EQ(test, ehs_request_reply_local(s, &s->first), -EPERM);
	KUNIT_EXPECT_EQ(test, ehs_request_reply_local(s, &s->second), -ENOENT);
	s->during = ehs_request_during_local;
	ehs_request_stays(s, &s->second, EHS_REASON_NO_RECEIVER);
	KUNIT_EXPECT_PTR_EQ(test, s->asked, (const struct ehs_agent *)&s->second);
	/* with the rest of its time */
	KUNIT_EXPECT_EQ(test, s->limit, LIMIT_MS * 6 / 10);
	KUNIT_EXPECT_EQ(test, s->sent, 2);
}

/* Another socket had less than the whole time; the same one had it, registered twice. */
static void ehs_request_handed_in_vain(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;
	u64 from = s->now;

	s->during = ehs_request_during_second;
	KUNIT_EXPECT_FALSE(test, ehs_request_ask(&s->node, &s->first, &s->req));
	s->during = NULL;
	ehs_request_stays(s, &s->second, EHS_REASON_TIME_OUT);
	KUNIT_EXPECT_EQ(test, s->now - from, LIMIT_NS);
	KUNIT_EXPECT_EQ(test, s->second.breakers[s->req.bucket].misses, 0);

	ehs_request_begin(s);
	KUNIT_EXPECT_TRUE(test, ehs_request_scene_add(s, &s->second, &s->req));
	ehs_request_replace(s, &s->second, false);
	ehs_request_stays(s, &s->second, EHS_REASON_TIME_OUT);
	KUNIT_EXPECT_EQ(test, s->second.breakers[s->req.bucket].misses, 1);
}

/* One that comes before the exec asks the last one is not to blame, until it comes again. */
static void ehs_request_never_asked(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;
	u32 bucket = s->req.bucket;

	/* the exec has a reference to the first */
	ehs_request_replace(s, &s->second, true);
	KUNIT_EXPECT_FALSE(test, ehs_request_ask(&s->node, &s->first, &s->req));
	/* it takes long to find out whether the second may place it */
	s->now += LIMIT_NS;
	ehs_request_stays(s, &s->second, EHS_REASON_TIME_OUT);
	KUNIT_EXPECT_EQ(test, s->second.breakers[bucket].misses, 0);

	ehs_request_begin(s);
	KUNIT_EXPECT_FALSE(test, ehs_request_ask(&s->node, &s->first, &s->req));
	ehs_request_replace(s, &s->second, false);
	s->now += LIMIT_NS;
	ehs_request_stays(s, &s->second, EHS_REASON_TIME_OUT);
	KUNIT_EXPECT_EQ(test, s->second.breakers[bucket].misses, 1);
	KUNIT_EXPECT_EQ(test, s->sent, 0);
}

/* Agents that come without end do not keep it: its time, a signal, or the end of them all does. */
static void ehs_request_handed_on(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;
	u64 from = s->now;
	int i;

	s->during = ehs_request_during_second;
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_FALSE(test,
				   ehs_request_ask(&s->node, i ? &s->second : &s->first, &s->req));
	s->during = NULL;
	s->now = from + LIMIT_NS;
	ehs_request_stays(s, &s->second, EHS_REASON_TIME_OUT);
	KUNIT_EXPECT_EQ(test, s->sent, 2);

	ehs_request_begin(s);
	s->during = ehs_request_during_second;
	KUNIT_EXPECT_FALSE(test, ehs_request_ask(&s->node, &s->second, &s->req));
	s->signal = true;
	ehs_request_stays(s, &s->second, EHS_REASON_KILLED);
	KUNIT_EXPECT_EQ(test, s->sent, 1);
	s->signal = false;

	/* one that has come since the exec took its reference */
	ehs_request_begin(s);
	KUNIT_EXPECT_FALSE(test, ehs_request_ask(&s->node, &s->first, &s->req));
	KUNIT_EXPECT_EQ(test, s->node.nr_requests, 1);
	ehs_request_end_agent(s);
	ehs_request_stays(s, &s->second, EHS_REASON_AGENT_GONE);
	KUNIT_EXPECT_EQ(test, s->sent, 0);
}

static struct kunit_case ehs_request_cases[] = {
	KUNIT_CASE(ehs_request_local),
	KUNIT_CASE(ehs_request_remote),
	KUNIT_CASE(ehs_request_foreign),
	KUNIT_CASE(ehs_request_time),
	KUNIT_CASE(ehs_request_last_moment),
	KUNIT_CASE(ehs_request_killed),
	KUNIT_CASE(ehs_request_killed_late),
	KUNIT_CASE(ehs_request_agent_gone),
	KUNIT_CASE(ehs_request_not_sent),
	KUNIT_CASE(ehs_request_not_sent_to_first),
	KUNIT_CASE(ehs_request_handed),
	KUNIT_CASE(ehs_request_handed_in_vain),
	KUNIT_CASE(ehs_request_never_asked),
	KUNIT_CASE(ehs_request_handed_on),
	{},
};

struct kunit_suite ehs_request_suite = {
	.name = "ehsched_request",
	.init = ehs_request_scene_init,
	.exit = ehs_request_scene_exit,
	.test_cases = ehs_request_cases,
};
