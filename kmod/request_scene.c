// SPDX-License-Identifier: GPL-2.0-only
#include "request_scene.h"

#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

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

void ehs_request_begin(struct ehs_request_scene *s)
{
	ehs_request_init(&s->req, COOKIE, "/bin/true");
	KUNIT_EXPECT_EQ(s->test, s->req.bucket, ehs_bucket_of(COOKIE, &ehs_request_key));
	s->sent = 0;
	s->waits = 0;
}

int ehs_request_scene_init(struct kunit *test)
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
void ehs_request_scene_exit(struct kunit *test)
{
	struct ehs_request_scene *s = test->priv;
	u32 bucket;

	ehs_request_start();
	KUNIT_EXPECT_EQ(test, s->node.nr_requests, 0);
	for (bucket = 0; bucket < EHS_BUCKETS; bucket++)
		KUNIT_EXPECT_EQ(test, s->node.nr_requests_of[bucket], 0);
	KUNIT_EXPECT_TRUE(test, hash_empty(s->node.requests));
}

u64 ehs_request_scene_cookie(u64 number, u32 bucket)
{
	return ehs_bucket_cookie(number, bucket, &ehs_request_key);
}

bool ehs_request_scene_add(struct ehs_request_scene *s, struct ehs_agent *agent,
			   struct ehs_request *req)
{
	return ehs_request_add(&s->node, agent, req, &s->limit);
}

void ehs_request_scene_unsent(struct ehs_request_scene *s, int err)
{
	ehs_request_send_failed(&s->node, &s->req, err);
}

int ehs_request_reply(struct ehs_request_scene *s, const struct ehs_agent *agent, u64 cookie,
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

int ehs_request_reply_away(struct ehs_request_scene *s, u64 cookie)
{
	return ehs_request_reply(s, &s->first, cookie, EHS_VERDICT_REMOTE, EHS_REASON_SENDER);
}

int ehs_request_reply_local(struct ehs_request_scene *s, const struct ehs_agent *agent)
{
	return ehs_request_reply(s, agent, COOKIE, EHS_VERDICT_LOCAL, EHS_REASON_NO_RECEIVER);
}

void ehs_request_replace(struct ehs_request_scene *s, struct ehs_agent *agent, bool other)
{
	raw_spin_lock(&s->node.lock);
	rcu_assign_pointer(s->node.agent, agent);
	ehs_request_hand_over(&s->node, other);
	raw_spin_unlock(&s->node.lock);
}

void ehs_request_end_agent(struct ehs_request_scene *s)
{
	raw_spin_lock(&s->node.lock);
	ehs_request_release(&s->node, EHS_REASON_AGENT_GONE);
	RCU_INIT_POINTER(s->node.agent, NULL);
	raw_spin_unlock(&s->node.lock);
}

void ehs_request_stays(struct ehs_request_scene *s, struct ehs_agent *agent, u32 reason)
{
	KUNIT_EXPECT_TRUE(s->test, ehs_request_ask(&s->node, agent, &s->req));
	KUNIT_EXPECT_TRUE(s->test, s->req.over);
	KUNIT_EXPECT_EQ(s->test, s->req.verdict, EHS_VERDICT_LOCAL);
	KUNIT_EXPECT_EQ(s->test, s->req.reason, reason);
}

void ehs_request_during_local(struct ehs_request_scene *s)
{
	KUNIT_EXPECT_EQ(s->test, s->node.nr_requests, 1);
	KUNIT_EXPECT_EQ(s->test, s->node.nr_requests_of[s->req.bucket], 1);
	KUNIT_EXPECT_EQ(s->test, ehs_request_reply_local(s, s->asked), 0);
	KUNIT_EXPECT_EQ(s->test, ehs_request_reply_local(s, s->asked), -ENOENT);
}

void ehs_request_during_second(struct ehs_request_scene *s)
{
	s->now += LIMIT_NS * 4 / 10;
	ehs_request_replace(s, &s->second, true);
}
