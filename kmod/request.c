// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: execs that wait for the agent's verdict. A request is decided once:
 * by the verdict, the time limit, a fatal signal, the end of the agent, or
 * because the module is to be removed. Whoever removes it from the node's table,
 * under the node's lock, has decided.
 *
 * All requests in the table are the present agent's: its end releases them under
 * the same lock.
 */

#include "request.h"

#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/string.h>

#include "agent.h"
#include "netlink.h"
#include "trace.h"

/* Limit of sleeping execs of a node, and so of what an agent has to keep. */
#define EHS_REQUEST_MAX 1024

/* Written under every node's lock once, see ehs_request_stop(). */
static bool ehs_request_stopped;

static struct ehs_agent *ehs_request_agent(const struct ehs_node *node)
{
	return rcu_dereference_protected(node->agent, lockdep_is_held(&node->lock));
}

static void ehs_request_decide(struct ehs_node *node, struct ehs_request *req, u32 verdict,
			       u32 reason)
{
	lockdep_assert_held(&node->lock);
	hash_del(&req->hash);
	node->nr_requests--;
	req->verdict = verdict;
	req->reason = reason;
	ehs_breaker_left(&ehs_request_agent(node)->breaker, req->try);
}

/* Decides for a run here, unless the request was decided already. */
static void ehs_request_give_up(struct ehs_node *node, struct ehs_request *req, u32 reason)
{
	raw_spin_lock(&node->lock);
	if (!hlist_unhashed(&req->hash))
		ehs_request_decide(node, req, EHS_VERDICT_LOCAL, reason);
	raw_spin_unlock(&node->lock);
}

/*
 * The time is over. When the agent has let several wait, the others that wait
 * for it now go on, too.
 */
static void ehs_request_time_out(struct ehs_node *node, struct ehs_request *req, u32 limit)
{
	u64 now = ktime_get_ns(), waited = limit * (u64)NSEC_PER_MSEC;
	struct ehs_breaker *breaker;

	raw_spin_lock(&node->lock);
	if (!hlist_unhashed(&req->hash)) {
		breaker = &ehs_request_agent(node)->breaker;
		ehs_request_decide(node, req, EHS_VERDICT_LOCAL, EHS_REASON_TIME_OUT);
		if (ehs_breaker_missed(breaker, now, waited, req->try))
			ehs_request_release(node, EHS_REASON_AGENT_SLOW);
	}
	raw_spin_unlock(&node->lock);
}

/*
 * Return: EHS_REASON_NONE when @req is in the table, with its time limit in
 * milliseconds in *limit; else why it is not.
 */
static enum ehs_reason ehs_request_add(struct ehs_node *node, struct ehs_agent *agent,
				       struct ehs_request *req, u32 *limit)
{
	enum ehs_reason reason = EHS_REASON_NONE;

	raw_spin_lock(&node->lock);
	if (READ_ONCE(ehs_request_stopped)) {
		reason = EHS_REASON_UNLOADING;
	} else if (rcu_access_pointer(node->agent) != agent) {
		reason = EHS_REASON_AGENT_GONE;
	} else if (node->nr_requests >= EHS_REQUEST_MAX) {
		reason = EHS_REASON_QUEUE_FULL;
	} else if (!ehs_breaker_admits(&agent->breaker, ktime_get_ns(), &req->try)) {
		reason = EHS_REASON_AGENT_SLOW;
	} else {
		hash_add(node->requests, &req->hash, req->cookie);
		node->nr_requests++;
		*limit = node->set.time_limit;
	}
	raw_spin_unlock(&node->lock);
	return reason;
}

static enum ehs_reason ehs_request_send_failed(int err)
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

/**
 * ehs_request_ask - ask the agent where the current task is to run, and wait
 * @node: node of the task
 * @agent: its agent
 * @req: cookie and path set; verdict, reason and token are filled in
 *
 * Sleeps up to the node's time limit; a fatal signal ends the wait.
 */
void ehs_request_ask(struct ehs_node *node, struct ehs_agent *agent, struct ehs_request *req)
{
	u64 start = ktime_get_ns();
	enum ehs_reason reason;
	long left;
	u32 limit;
	int err;

	init_completion(&req->decided);
	req->verdict = EHS_VERDICT_LOCAL;
	/* before it is sent, because the answer may come at once */
	reason = ehs_request_add(node, agent, req, &limit);
	if (reason) {
		req->reason = reason;
		goto trace;
	}
	err = ehs_nl_place_request(node, agent, req, limit);
	if (err) {
		ehs_request_give_up(node, req, ehs_request_send_failed(err));
		goto trace;
	}
	left = wait_for_completion_killable_timeout(&req->decided, msecs_to_jiffies(limit));
	if (left < 0)
		ehs_request_give_up(node, req, EHS_REASON_KILLED);
	else if (!left)
		ehs_request_time_out(node, req, limit);
trace:
	trace_ehs_verdict(req->cookie, req->verdict, req->reason, ktime_get_ns() - start);
}

/**
 * ehs_request_answer - the agent's verdict
 * @node: node of the sending socket's namespace
 * @port: port of that socket
 * @answer: cookie, verdict, reason and token
 * @extack: for the text of a refusal
 *
 * Return: 0, -EPERM if the socket is not the agent's, -ENOENT if no exec waits
 * for it: it comes too late, or for the second time.
 */
int ehs_request_answer(struct ehs_node *node, u32 port, const struct ehs_request *answer,
		       struct netlink_ext_ack *extack)
{
	struct ehs_request *req;
	struct ehs_agent *agent;
	int err = -ENOENT;

	raw_spin_lock(&node->lock);
	agent = ehs_request_agent(node);
	if (!agent || agent->port != port) {
		NL_SET_ERR_MSG_MOD(extack, "only the socket registered as agent may send verdicts");
		err = -EPERM;
		goto unlock;
	}
	ehs_breaker_lives(&agent->breaker, ktime_get_ns());
	hash_for_each_possible(node->requests, req, hash, answer->cookie) {
		if (req->cookie != answer->cookie)
			continue;
		strscpy(req->token, answer->token, sizeof(req->token));
		ehs_breaker_answered(&agent->breaker);
		ehs_request_decide(node, req, answer->verdict, answer->reason);
		/* last: after it the request may be gone, with its stack */
		complete(&req->decided);
		err = 0;
		goto unlock;
	}
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
	struct ehs_request *req;
	struct hlist_node *tmp;
	int bucket;

	lockdep_assert_held(&node->lock);
	hash_for_each_safe(node->requests, bucket, tmp, req, hash) {
		ehs_request_decide(node, req, EHS_VERDICT_LOCAL, reason);
		complete(&req->decided);
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
