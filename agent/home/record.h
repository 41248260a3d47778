/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file record.h
 * Placements on record: found by id and by token, listed, and kept with their
 * steps for `ehctl why` until 1024 others have ended. What happens to them is
 * placement.c's affair.
 */
#ifndef AGENT_HOME_RECORD_H
#define AGENT_HOME_RECORD_H

#include <jansson.h>
#include <linux/ehsched.h>
#include <uthash.h>
#include "base/agent.h"
#include "eh/eh.h"
#include "eh/member.h"
#include "home/placement_task.h"

#define PLACEMENT_TRIES 3 /**< executors asked: the first, and twice again */
#define RECORD_STEPS 16

enum placement_phase {
	PLACEMENT_OPEN, /* undecided */
	PLACEMENT_RESERVED, /* verdict given, its stub has not come yet */
	PLACEMENT_CLAIMED, /* the stub is here */
	PLACEMENT_AWAY, /* runs there */
	PLACEMENT_OVER,
};

struct record_step {
	uint32_t us;
	char what[92];
};

struct placement {
	struct agent *agent;
	UT_hash_handle by_id, by_token;
	struct placement *next; /* in the list of ended ones */
	char id[EH_CODE_TEXT + 24], token[EHS_TOKEN_MAX + 1];
	uint64_t cookie, began_us;
	enum placement_phase phase;
	bool kernel, explicit_node;
	unsigned int calls; /* under way that will come back to us */
	placement_fn decided;
	void *ctx;
	struct event *timer; /* time limit, then lease */
	pid_t pid, remote;
	uid_t uid;
	char *path, command[64];
	json_t *program;
	bool program_known;
	enum view view;
	struct peer *to, *tried[PLACEMENT_TRIES];
	unsigned int ntried, time_ms, probes;
	struct eh_probe decider; /* the controller that said `to` */
	enum ehs_reason reason;
	char text[200];
	int64_t started; /* wall clock, ms */
	unsigned int nsteps;
	struct record_step steps[RECORD_STEPS];
};

/** A new one, undecided, with a timer that calls `on_timer`. NULL: no memory. */
struct placement *record_new(struct agent *agent, const struct placement_task *task,
			     event_callback_fn on_timer);
/** A step for `why`; the last place is for how it ended. */
void record_step(struct placement *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/** Found by this token from now on, until it is over. */
void record_set_token(struct placement *p, const char *token);
/** A call that will come back to it is under way; it has come back. */
void record_hold(struct placement *p);
void record_release(struct placement *p);
/** It is over. Kept until 1024 others are, once nothing will come back to it. */
void record_over(struct placement *p);

struct placement *record_by_id(struct agent *agent, const char *id); /**< NULL: unknown */
struct placement *record_by_token(struct agent *agent, const char *token);
/** By the kernel's number. */
struct placement *record_by_cookie(struct agent *agent, uint64_t cookie);
/** Appends the tasks that are away, as in `tasks --json`. */
void record_list(struct agent *agent, json_t *tasks);
/** Whether record_list() has it. */
bool record_is_away(const struct placement *p);
/** Reply to `why`, NULL: unknown. */
json_t *record_why(struct agent *agent, const char *id);
/** Of the last placement of a process of this number, which may have ended. */
json_t *record_why_pid(struct agent *agent, pid_t pid);

int record_init(struct agent *agent); /**< 0 or -ENOMEM */
void record_exit(struct agent *agent);

#endif
