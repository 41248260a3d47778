// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of request.c, with a node, agents and a clock of their own. Nobody
 * waits: what is to happen while an exec does is called where it would sleep.
 */

#include <kunit/test.h>
#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

/* A kernel that has both built in has the module's own ones, too. */
#define ehs_request_init ehs_request_test_init
#define ehs_request_ask ehs_request_test_ask
#define ehs_request_give_up ehs_request_test_give_up
#define ehs_request_answer ehs_request_test_answer
#define ehs_request_hand_over ehs_request_test_hand_over
#define ehs_request_release ehs_request_test_release
#define ehs_request_stop ehs_request_test_stop
#define ehs_request_start ehs_request_test_start
#define ehs_node_next ehs_request_test_node_next
#define ehs_nl_place_request ehs_request_test_send

#include "agent.h"
#include "netlink.h"
#include "request.h"
#include "test.h"

#define LIMIT_MS 10000
#define LIMIT_NS (LIMIT_MS * (u64)NSEC_PER_MSEC)
#define COOKIE 4711

/**
 * struct ehs_request_scene - all that request.c sees
 * @test: the test that runs
 * @node: the only node
 * @first: an agent
 * @second: another one, of another socket
 * @req: request of an exec
 * @now: the clock, ns; jiffies follow it
 * @signal: a fatal signal is pending
 * @sending: what happens while the agent is sent the request, or NULL
 * @send_error: what sending it returns
 * @during: what happens while the exec waits, or NULL
 * @woken_late: it happens when the wait has ended already, by its time or the signal
 * @asked: who was sent the last request
 * @limit: with this limit
 * @sent: how many were sent
 * @waits: how often an exec has waited
 * @woken: the exec that waits was woken
 */
struct ehs_request_scene {
	struct kunit *test;
	struct ehs_node node;
	struct ehs_agent first, second;
	struct ehs_request req;
	u64 now;
	bool signal;
	void (*sending)(struct ehs_request_scene *s);
	int send_error;
	void (*during)(struct ehs_request_scene *s);
	bool woken_late;
	const struct ehs_agent *asked;
	u32 limit;
	int sent;
	int waits;
	bool woken;
};

static struct ehs_request_scene *scene;

/* They wrap soon, so deadlines do. */
static unsigned long ehs_request_test_jiffies(void)
{
	return div_u64(scene->now, NSEC_PER_SEC / HZ) - 5;
}

static void ehs_request_test_sleep(long left)
{
	struct ehs_request_scene *s = scene;

	/* as one that has slept; what follows may do as it likes */
	__set_current_state(TASK_RUNNING);
	KUNIT_EXPECT_FALSE(s->test, raw_spin_is_locked(&s->node.lock));
	/* one that nothing ends */
	KUNIT_ASSERT_LE(s->test, ++s->waits, 8);
	s->woken = false;
	if (s->during)
		s->during(s);
	if ((s->woken && !s->woken_late) || s->signal)
		return;
	s->now += jiffies_to_nsecs(left);
}

/* The tasks of a crowd are only marks, whether they were woken. */
static void ehs_request_test_wake(struct task_struct *task)
{
	bool *woken = task == current ? &scene->woken : (bool *)task;

	/* later the request may be gone, with its stack */
	KUNIT_EXPECT_TRUE(scene->test, raw_spin_is_locked(&scene->node.lock));
	*woken = true;
}

int ehs_nl_place_request(struct ehs_node *node, const struct ehs_agent *agent,
			 const struct ehs_request *req, u32 time_limit)
{
	struct ehs_request_scene *s = scene;

	KUNIT_EXPECT_FALSE(s->test, raw_spin_is_locked(&node->lock));
	KUNIT_EXPECT_EQ(s->test, req->cookie, (u64)COOKIE);
	s->asked = agent;
	s->limit = time_limit;
	s->sent++;
	if (s->sending)
		s->sending(s);
	return s->send_error;
}

struct ehs_node *ehs_node_next(u64 *serial)
{
	return (*serial)++ ? NULL : &scene->node;
}

#define schedule_timeout ehs_request_test_sleep
#define wake_up_process ehs_request_test_wake
#define fatal_signal_pending(task) (scene->signal)
#define ktime_get_ns() (scene->now)
#define jiffies ehs_request_test_jiffies()
/* that of request.c */
#undef pr_fmt
#include "request.c"
#undef jiffies

static void ehs_request_begin(struct ehs_request_scene *s)
{
	ehs_request_init(&s->req, COOKIE, "/bin/true");
	KUNIT_EXPECT_EQ(s->test, s->req.bucket, ehs_bucket_of(COOKIE, &ehs_request_key));
	s->sent = 0;
	s->waits = 0;
}

static int ehs_request_scene_init(struct kunit *test)
{
	struct ehs_request_scene *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	if (!s)
		return -ENOMEM;
	scene = s;
	test->priv = s;
	s->test = test;
	raw_spin_lock_init(&s->node.lock);
	hash_init(s->node.requests);
	s->node.set.time_limit = LIMIT_MS;
	s->node.set.max_requests = 1024;
	/* compared only */
	s->first.sock = (const struct sock *)&s->first;
	s->second.sock = (const struct sock *)&s->second;
	RCU_INIT_POINTER(s->node.agent, &s->first);
	ehs_request_begin(s);
	return 0;
}

/* However a test ends, nobody is left in the table, and all are out of the counts. */
static void ehs_request_scene_exit(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;
	u32 bucket;

	ehs_request_start();
	KUNIT_EXPECT_EQ(test, s->node.nr_requests, 0);
	for (bucket = 0; bucket < EHS_BUCKETS; bucket++)
		KUNIT_EXPECT_EQ(test, s->node.nr_requests_of[bucket], 0);
	KUNIT_EXPECT_TRUE(test, hash_empty(s->node.requests));
}

/* As the handler of the verdict does. */
static int ehs_request_reply(struct ehs_request_scene *s, const struct ehs_agent *agent, u64 cookie,
			     u32 verdict, u32 reason)
{
	struct ehs_request answer = {
		.cookie = cookie, .verdict = verdict, .reason = reason, .token = "token"
	};
	struct netlink_ext_ack extack = {};
	int err = ehs_request_answer(&s->node, agent->sock, &answer, &extack);

	/* each refusal has a text */
	KUNIT_EXPECT_EQ(s->test, !err, !extack._msg);
	return err;
}

static int ehs_request_reply_away(struct ehs_request_scene *s, u64 cookie)
{
	return ehs_request_reply(s, &s->first, cookie, EHS_VERDICT_REMOTE, EHS_REASON_SENDER);
}

static int ehs_request_reply_local(struct ehs_request_scene *s, const struct ehs_agent *agent)
{
	return ehs_request_reply(s, agent, COOKIE, EHS_VERDICT_LOCAL, EHS_REASON_NO_RECEIVER);
}

/* As agent.c does. */
static void ehs_request_replace(struct ehs_request_scene *s, struct ehs_agent *agent, bool other)
{
	raw_spin_lock(&s->node.lock);
	rcu_assign_pointer(s->node.agent, agent);
	ehs_request_hand_over(&s->node, other);
	raw_spin_unlock(&s->node.lock);
}

static void ehs_request_end_agent(struct ehs_request_scene *s)
{
	raw_spin_lock(&s->node.lock);
	ehs_request_release(&s->node, EHS_REASON_AGENT_GONE);
	RCU_INIT_POINTER(s->node.agent, NULL);
	raw_spin_unlock(&s->node.lock);
}

/* Asks, and it is decided that the exec runs here. */
static void ehs_request_stays(struct ehs_request_scene *s, struct ehs_agent *agent, u32 reason)
{
	KUNIT_EXPECT_TRUE(s->test, ehs_request_ask(&s->node, agent, &s->req));
	KUNIT_EXPECT_TRUE(s->test, s->req.over);
	KUNIT_EXPECT_EQ(s->test, s->req.verdict, EHS_VERDICT_LOCAL);
	KUNIT_EXPECT_EQ(s->test, s->req.reason, reason);
}

/* ---- verdicts */

static void ehs_request_during_local(struct ehs_request_scene *s)
{
	KUNIT_EXPECT_EQ(s->test, s->node.nr_requests, 1);
	KUNIT_EXPECT_EQ(s->test, s->node.nr_requests_of[s->req.bucket], 1);
	KUNIT_EXPECT_EQ(s->test, ehs_request_reply_local(s, s->asked), 0);
	KUNIT_EXPECT_EQ(s->test, ehs_request_reply_local(s, s->asked), -ENOENT);
}

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

static void ehs_request_during_second(struct ehs_request_scene *s)
{
	s->now += LIMIT_NS * 4 / 10;
	ehs_request_replace(s, &s->second, true);
}

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
	KUNIT_EXPECT_TRUE(test, ehs_request_add(&s->node, &s->second, &s->req, &s->limit));
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

/* ---- many */

/* @n execs of a bucket that wait for the present agent, beside the one of the scene. */
static struct ehs_request *ehs_request_crowd(struct ehs_request_scene *s, u32 bucket, int n)
{
	struct ehs_request *reqs = kunit_kcalloc(s->test, n, sizeof(*reqs), GFP_KERNEL);
	bool *woken = kunit_kcalloc(s->test, n, sizeof(*woken), GFP_KERNEL);
	u32 limit;
	int i;

	KUNIT_ASSERT_NOT_NULL(s->test, reqs);
	KUNIT_ASSERT_NOT_NULL(s->test, woken);
	for (i = 0; i < n; i++) {
		ehs_request_init(&reqs[i], ehs_bucket_cookie(i, bucket, &ehs_request_key),
				 "/bin/true");
		reqs[i].task = (struct task_struct *)&woken[i];
		KUNIT_EXPECT_TRUE(s->test, ehs_request_add(&s->node, &s->first, &reqs[i], &limit));
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
	KUNIT_EXPECT_TRUE(s->test, ehs_request_add(&s->node, &s->first, &s->req, &s->limit));
	/* gives it back at once */
	ehs_request_send_failed(&s->node, &s->req, -ENOMEM);
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
	KUNIT_EXPECT_TRUE(test, ehs_request_add(&s->node, &s->second, &s->req, &s->limit));
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
	u32 limit;

	KUNIT_ASSERT_NOT_NULL(s->test, other);
	KUNIT_EXPECT_TRUE(s->test, s->req.try);
	ehs_request_init(other, COOKIE, "/bin/true");
	KUNIT_EXPECT_FALSE(s->test, ehs_request_add(&s->node, &s->first, other, &limit));
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
	u32 other = (ehs_bucket_of(COOKIE, &ehs_request_key) + 1) % EHS_BUCKETS;

	ehs_request_open_breaker(s);
	KUNIT_EXPECT_EQ(test,
			ehs_request_reply(s, &s->first,
					  ehs_bucket_cookie(7, other, &ehs_request_key),
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

struct kunit_suite ehs_request_suite = {
	.name = "ehsched_request",
	.init = ehs_request_scene_init,
	.exit = ehs_request_scene_exit,
	.test_cases = ehs_request_cases,
};
