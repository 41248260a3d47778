// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: execs that wait for the agent's verdict. A request is decided once:
 * by the verdict, the time limit, a fatal signal, the end of the agent, or
 * because the module is to be removed. The one that removes it from the node's table,
 * under the node's lock, has decided.
 *
 * All requests in the table are the present agent's: its end releases them under
 * the same lock. When another agent takes its place, they stay in the table and
 * their execs are woken to ask that one themselves, because only they know
 * whether they may be placed by it, and can sleep for the message.
 *
 * A request is on the stack of its exec. Others use it under the node's lock
 * only, and wake the exec there, so it leaves after it has had that lock and found
 * the request decided.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "request.h"

#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "agent.h"
#include "netlink.h"

/*
 * The administrator bounds the execs of a node that sleep, and so what an agent has to
 * keep. A user has this part of them, so that none uses up the places of all.
 */
#define EHS_REQUEST_PART 8

/*
 * How an exec waits: a fatal signal wakes it, nothing else does, and it is no load. It
 * wants no processor, and an agent that is slow must not look like a host that is busy.
 */
#define EHS_REQUEST_SLEEP (TASK_KILLABLE | TASK_NOLOAD)

/* Written under every node's lock once, see ehs_request_stop(). */
static bool ehs_request_stopped;

static atomic64_t ehs_request_number; /* of the last placement */
static siphash_aligned_key_t ehs_request_key; /* of cookies */

static struct ehs_agent *ehs_request_agent(const struct ehs_node *node)
{
	return rcu_dereference_protected(node->agent, lockdep_is_held(&node->lock));
}

static void ehs_request_decide(struct ehs_node *node, struct ehs_request *req, u32 verdict,
			       u32 reason)
{
	struct ehs_agent *agent = ehs_request_agent(node);

	lockdep_assert_held(&node->lock);
	if (!hlist_unhashed(&req->hash)) {
		hash_del(&req->hash);
		node->nr_requests--;
		node->nr_requests_of[req->bucket]--;
	}
	req->over = true;
	req->verdict = verdict;
	req->reason = reason;
	/* the present agent is of the socket for which it tries, see ehs_request_hand_over() */
	if (agent)
		ehs_breaker_left(&agent->breakers[req->bucket], req->try);
}

/* The same, that it runs here, for all but an answer of the agent that was asked. */
static void ehs_request_abandon(struct ehs_node *node, struct ehs_request *req,
				enum ehs_reason reason)
{
	struct ehs_agent *agent = ehs_request_agent(node);

	/* its message may still be in the socket */
	if (agent && req->agent == agent)
		ehs_unread_add(&agent->unread, req->bucket, ktime_get_ns());
	ehs_request_decide(node, req, EHS_VERDICT_LOCAL, reason);
}

/*
 * Lets the exec see what has become of its request. One that has asked nobody does not
 * sleep here, but perhaps for a file system, where it is not to be disturbed; it looks
 * under the lock before it sleeps.
 */
static void ehs_request_wake(const struct ehs_request *req)
{
	if (req->agent)
		wake_up_process(req->task);
}

/* Whether there is no place for one more exec of this user, with the agent as it is. */
static bool ehs_request_is_full(const struct ehs_node *node, struct ehs_agent *agent,
				const struct ehs_request *req, u64 now)
{
	const u32 all = node->nr_requests + ehs_unread_all(&agent->unread, now);
	const u32 his =
		node->nr_requests_of[req->bucket] + ehs_unread_of(&agent->unread, req->bucket, now);

	lockdep_assert_held(&node->lock);
	return all >= node->set.max_requests ||
	       his >= max(node->set.max_requests / EHS_REQUEST_PART, 1U);
}

/* Decides that execs that wait run here: all, or those of one bucket. */
static void ehs_request_release_of(struct ehs_node *node, u32 bucket, enum ehs_reason reason)
{
	struct ehs_request *req;
	struct hlist_node *tmp;
	int i;

	lockdep_assert_held(&node->lock);
	hash_for_each_safe(node->requests, i, tmp, req, hash) {
		if (bucket != EHS_BUCKETS && bucket != req->bucket)
			continue;
		ehs_request_abandon(node, req, reason);
		ehs_request_wake(req);
	}
}

/**
 * ehs_request_give_up - decide that the current exec runs here, unless it is decided
 * @node: node of the task
 * @req: its request, whether an agent was asked or not
 * @reason: why
 */
void ehs_request_give_up(struct ehs_node *node, struct ehs_request *req, enum ehs_reason reason)
{
	raw_spin_lock(&node->lock);
	if (!req->over)
		ehs_request_abandon(node, req, reason);
	raw_spin_unlock(&node->lock);
}

/*
 * The time is over. When the agent has let several of a user wait, the others of his
 * that wait for it now go on, too. One that came later had less than the whole time,
 * or was not asked at all, so that says nothing about it; but one that is registered
 * again and again has itself to blame. Return: whether it is not asked for a while from
 * now on.
 */
static bool ehs_request_miss(struct ehs_node *node, struct ehs_request *req)
{
	u64 now = ktime_get_ns(), waited = req->limit * (u64)NSEC_PER_MSEC;
	struct ehs_agent *agent = ehs_request_agent(node);

	lockdep_assert_held(&node->lock);
	ehs_request_abandon(node, req, EHS_REASON_TIME_OUT);
	if (!agent || !req->counts ||
	    !ehs_breaker_missed(&agent->breakers[req->bucket], now, waited, req->try))
		return false;
	ehs_request_release_of(node, req->bucket, EHS_REASON_AGENT_SLOW);
	return true;
}

/* Users can make nodes of their own: only of the host's the log is told. */
static void ehs_request_log_slow(const struct ehs_node *node)
{
	if (ehs_node_is_host(node))
		pr_notice_ratelimited("agent let execs of user %u wait: not asked for a while\n",
				      from_kuid(&init_user_ns, current_uid()));
}

static void ehs_request_time_out(struct ehs_node *node, struct ehs_request *req)
{
	bool slow;

	raw_spin_lock(&node->lock);
	slow = !req->over && ehs_request_miss(node, req);
	raw_spin_unlock(&node->lock);
	if (slow)
		ehs_request_log_slow(node);
}

static long ehs_request_left(const struct ehs_request *req)
{
	return max((long)(req->deadline - jiffies), 0L);
}

/*
 * Return: true when @req is in the table as one that @agent is asked, with the
 * milliseconds that it will wait in *limit; false if it is decided, or in the
 * table but another agent is to be asked.
 */
static bool ehs_request_add(struct ehs_node *node, struct ehs_agent *agent, struct ehs_request *req,
			    u32 *limit)
{
	enum ehs_reason reason = EHS_REASON_NONE;
	bool asks = false, slow = false, first, waits;
	struct ehs_agent *present;
	u64 now;

	raw_spin_lock(&node->lock);
	now = ktime_get_ns();
	if (req->over)
		goto unlock;
	waits = !hlist_unhashed(&req->hash);
	present = ehs_request_agent(node);
	first = !req->limit;
	if (first) {
		req->limit = node->set.time_limit;
		req->deadline = jiffies + msecs_to_jiffies(req->limit);
	}
	/* agents may come faster than it can wait for one, or find out whether it may ask one */
	if (fatal_signal_pending(current))
		reason = EHS_REASON_KILLED;
	else if (!ehs_request_left(req))
		reason = EHS_REASON_TIME_OUT;
	else if (READ_ONCE(ehs_request_stopped))
		reason = EHS_REASON_UNLOADING;
	else if (!present)
		reason = EHS_REASON_AGENT_GONE;
	else if (!waits && ehs_request_is_full(node, present, req, now))
		reason = EHS_REASON_QUEUE_FULL;
	else if (!req->try && !ehs_breaker_admits(&present->breakers[req->bucket], now,
						  req->limit * (u64)NSEC_PER_MSEC, &req->try))
		reason = EHS_REASON_AGENT_SLOW;
	if (reason == EHS_REASON_TIME_OUT) {
		slow = ehs_request_miss(node, req);
		goto unlock;
	}
	if (reason) {
		ehs_request_decide(node, req, EHS_VERDICT_LOCAL, reason);
		goto unlock;
	}
	if (!waits) {
		hash_add(node->requests, &req->hash, req->cookie);
		node->nr_requests++;
		node->nr_requests_of[req->bucket]++;
	}
	/* another has come since: that one is to be asked */
	if (present != agent)
		goto unlock;
	asks = true;
	req->agent = agent;
	req->counts |= first;
	*limit = first ? req->limit : max(jiffies_to_msecs(ehs_request_left(req)), 1U);
unlock:
	raw_spin_unlock(&node->lock);
	if (slow)
		ehs_request_log_slow(node);
	return asks;
}

/* Whether it is decided: then nobody else uses @req any more, for they hold the lock. */
static bool ehs_request_is_over(struct ehs_node *node, const struct ehs_request *req)
{
	bool over;

	raw_spin_lock(&node->lock);
	over = req->over;
	raw_spin_unlock(&node->lock);
	return over;
}

/* Whether the agent that was asked may still answer. */
static bool ehs_request_waits(struct ehs_node *node, const struct ehs_request *req)
{
	bool waits;

	raw_spin_lock(&node->lock);
	waits = !req->over && req->agent;
	raw_spin_unlock(&node->lock);
	return waits;
}

/*
 * Sleeps until the request is decided, or another agent is to be asked. The state is
 * set before each look: a waker that came before it is seen by it, and one that comes
 * later ends the sleep. The node's lock, which is raw, may be taken in any state.
 */
static void ehs_request_sleep(struct ehs_node *node, struct ehs_request *req)
{
	bool killed;
	long left;

	for (;;) {
		set_current_state(EHS_REQUEST_SLEEP);
		if (!ehs_request_waits(node, req))
			break;
		killed = fatal_signal_pending(current);
		left = ehs_request_left(req);
		if (!killed && left) {
			schedule_timeout(left);
			continue;
		}
		__set_current_state(TASK_RUNNING);
		if (killed)
			ehs_request_give_up(node, req, EHS_REASON_KILLED);
		else
			ehs_request_time_out(node, req);
	}
	__set_current_state(TASK_RUNNING);
}

static enum ehs_reason ehs_request_send_reason(int err)
{
	switch (err) {
	case -EAGAIN:
	case -ENOBUFS:
		return EHS_REASON_QUEUE_FULL;
	case -ECONNREFUSED:
		return EHS_REASON_AGENT_GONE;
	default:
		return EHS_REASON_NO_MEMORY;
	}
}

/*
 * The agent did not get it, so there is nothing to answer. If another has taken its
 * place meanwhile, that one is asked.
 */
static void ehs_request_send_failed(struct ehs_node *node, struct ehs_request *req, int err)
{
	struct ehs_agent *agent;

	raw_spin_lock(&node->lock);
	agent = ehs_request_agent(node);
	if (!req->over && req->agent)
		ehs_request_decide(node, req, EHS_VERDICT_LOCAL, ehs_request_send_reason(err));
	else if (agent && req->agent == agent)
		ehs_unread_answered(&agent->unread, req->bucket);
	raw_spin_unlock(&node->lock);
}

/**
 * ehs_request_setup - when the module is loaded
 *
 * Numbers do not begin at 1 each time: an agent may still have a verdict for a cookie
 * from before the module was removed, and would list two tasks as one. Milliseconds
 * since boot are ahead of the last number unless there was more than one exec per
 * millisecond.
 */
void ehs_request_setup(void)
{
	get_random_bytes(&ehs_request_key, sizeof(ehs_request_key));
	atomic64_set(&ehs_request_number, ktime_to_ms(ktime_get_boottime()));
}

/**
 * ehs_request_cookie - a new cookie
 * @node: node of the current task, whose placement it names
 */
u64 ehs_request_cookie(const struct ehs_node *node)
{
	return ehs_bucket_cookie(atomic64_inc_return(&ehs_request_number),
				 ehs_node_bucket(node, current_uid()), &ehs_request_key);
}

/**
 * ehs_request_init - begin a request of the current task, which no agent was asked yet
 * @req: on the stack of the exec
 * @cookie: number of the placement
 * @path: program as given to exec
 */
void ehs_request_init(struct ehs_request *req, u64 cookie, const char *path)
{
	*req = (struct ehs_request){
		.cookie = cookie,
		.path = path,
		.task = current,
		.bucket = ehs_bucket_of(cookie, &ehs_request_key),
	};
}

/**
 * ehs_request_ask - ask an agent where the current task is to run, and wait
 * @node: node of the task
 * @agent: its agent, referenced until @req is decided or asked of another one
 * @req: from ehs_request_init(); verdict, reason and token are filled in
 *
 * Sleeps up to the node's time limit, counted from the first call; a fatal
 * signal ends the wait. While another agent is to be asked, the request stays in
 * the table, so that all that ends a wait ends this one, too.
 *
 * Return: whether it is decided; if not, another agent has come, which is to be
 * asked.
 */
bool ehs_request_ask(struct ehs_node *node, struct ehs_agent *agent, struct ehs_request *req)
{
	u32 limit;
	int err;

	if (!req->started_at)
		req->started_at = ktime_get_ns();
	/* before it is sent, because the answer may come at once */
	if (!ehs_request_add(node, agent, req, &limit))
		return ehs_request_is_over(node, req);
	err = ehs_nl_place_request(node, agent, req, limit);
	if (err)
		ehs_request_send_failed(node, req, err);
	ehs_request_sleep(node, req);
	return ehs_request_is_over(node, req);
}

/**
 * ehs_request_answer - the agent's verdict
 * @node: node of the sending socket's namespace
 * @sock: that socket
 * @answer: cookie, verdict, reason and token
 * @extack: for the text of a refusal
 *
 * Return: 0, -EPERM if the socket is not the agent's, -ENOENT if no exec waits
 * for it: it comes too late, or for the second time.
 */
int ehs_request_answer(struct ehs_node *node, const struct sock *sock,
		       const struct ehs_request *answer, struct netlink_ext_ack *extack)
{
	struct ehs_request *req;
	struct ehs_agent *agent;
	u32 bucket = ehs_bucket_of(answer->cookie, &ehs_request_key);
	int err = -ENOENT;

	raw_spin_lock(&node->lock);
	agent = ehs_request_agent(node);
	if (!agent || agent->sock != sock) {
		NL_SET_ERR_MSG_MOD(extack, "only the socket registered as agent may send verdicts");
		err = -EPERM;
		goto unlock;
	}
	hash_for_each_possible(node->requests, req, hash, answer->cookie) {
		/* one that has not asked this agent yet will */
		if (req->cookie != answer->cookie || req->agent != agent)
			continue;
		strscpy(req->token, answer->token, sizeof(req->token));
		ehs_breaker_answered(&agent->breakers[req->bucket]);
		ehs_request_decide(node, req, answer->verdict, answer->reason);
		ehs_request_wake(req);
		err = 0;
		goto unlock;
	}
	ehs_unread_answered(&agent->unread, bucket);
	ehs_breaker_lives(&agent->breakers[bucket], ktime_get_ns());
	NL_SET_ERR_MSG_MOD(extack,
			   "nobody waits for this verdict: it is late, or was given before");
unlock:
	raw_spin_unlock(&node->lock);
	return err;
}

/**
 * ehs_request_release - decide that all waiting execs of a node run here
 * @node: node, locked
 * @reason: why
 */
void ehs_request_release(struct ehs_node *node, enum ehs_reason reason)
{
	ehs_request_release_of(node, EHS_BUCKETS, reason);
}

/**
 * ehs_request_hand_over - let all execs that wait ask the agent that has just come
 * @node: node, locked; its agent is the new one
 * @other: it is another socket
 *
 * The execs hold their references to the old one until they have seen this. The same
 * socket, registered again, has had part of the time already: if that ends, it has
 * let them wait, and the exec that tries is the same.
 */
void ehs_request_hand_over(struct ehs_node *node, bool other)
{
	struct ehs_request *req;
	int bucket;

	lockdep_assert_held(&node->lock);
	hash_for_each(node->requests, bucket, req, hash)
	{
		ehs_request_wake(req);
		req->agent = NULL;
		req->try &= !other;
		req->counts = !other;
	}
}

/**
 * ehs_request_stop - release all requests and admit no new ones
 */
void ehs_request_stop(void)
{
	struct ehs_node *node;
	u64 serial = 0;

	WRITE_ONCE(ehs_request_stopped, true);
	rcu_read_lock();
	/* requests that come later see the flag: this takes each node's lock */
	while ((node = ehs_node_next(&serial))) {
		raw_spin_lock(&node->lock);
		ehs_request_release(node, EHS_REASON_UNLOADING);
		raw_spin_unlock(&node->lock);
	}
	rcu_read_unlock();
}

/**
 * ehs_request_start - undo ehs_request_stop()
 */
void ehs_request_start(void)
{
	WRITE_ONCE(ehs_request_stopped, false);
}
