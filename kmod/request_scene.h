/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scene in which KUnit tests call request.c: a node, agents and a clock of its own.
 * Nobody waits: what is to happen while an exec does is called where it would sleep.
 */
#ifndef _EHS_REQUEST_SCENE_H
#define _EHS_REQUEST_SCENE_H

#include <kunit/test.h>

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

int ehs_request_scene_init(struct kunit *test);
void ehs_request_scene_exit(struct kunit *test);
void ehs_request_begin(struct ehs_request_scene *s);

/* Cookie of placement @number of a user of @bucket. */
u64 ehs_request_scene_cookie(u64 number, u32 bucket);

/* The exec is in the table; sending its request has failed. */
bool ehs_request_scene_add(struct ehs_request_scene *s, struct ehs_agent *agent,
			   struct ehs_request *req);
void ehs_request_scene_unsent(struct ehs_request_scene *s, int err);

/* The verdict of an agent, as its handler gives it. Return: 0 or -errno, with a text. */
int ehs_request_reply(struct ehs_request_scene *s, const struct ehs_agent *agent, u64 cookie,
		      u32 verdict, u32 reason);
int ehs_request_reply_away(struct ehs_request_scene *s, u64 cookie);
int ehs_request_reply_local(struct ehs_request_scene *s, const struct ehs_agent *agent);

/* As agent.c does: another agent, of another socket or not; none any more. */
void ehs_request_replace(struct ehs_request_scene *s, struct ehs_agent *agent, bool other);
void ehs_request_end_agent(struct ehs_request_scene *s);

/* Asks, and it is decided that the exec runs here. */
void ehs_request_stays(struct ehs_request_scene *s, struct ehs_agent *agent, u32 reason);

/* For @during: the agent that was asked answers; the second one comes after 4/10 of the time. */
void ehs_request_during_local(struct ehs_request_scene *s);
void ehs_request_during_second(struct ehs_request_scene *s);

#endif /* _EHS_REQUEST_SCENE_H */
