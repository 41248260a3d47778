/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file record.h
 * Records of placements. They are found by id, and kept with their steps for `ehctl why` until 1024
 * later ones have ended. placement.c decides what happens to them.
 */
#ifndef AGENT_HOME_RECORD_H
#define AGENT_HOME_RECORD_H

#include <jansson.h>
#include <linux/ehsched.h>
#include <uthash.h>
#include "base/agent.h"
#include "cluster/timing.h"
#include "cost/cost.h"
#include "eh/credit.h"
#include "eh/eh.h"
#include "eh/member.h"
#include "home/placement_task.h"

struct attach;
struct eligible;
struct label_wish;
struct files_question;

#define PLACEMENT_TRIES 3 /**< executors to ask */
#define RECORD_STEPS 16

enum placement_phase {
	PLACEMENT_OPEN, /* undecided */
	PLACEMENT_RESERVED, /* verdict given, no stub yet */
	PLACEMENT_CLAIMED, /* its stub has connected */
	PLACEMENT_AWAY, /* runs on the executor */
	PLACEMENT_OVER,
};

struct record_step {
	uint32_t us;
	char what[92];
};

struct placement {
	struct agent *agent;
	UT_hash_handle by_id;
	struct placement *next; /* in the list of ended ones */
	char id[EH_CODE_TEXT + 24];
	char token[EHS_TOKEN_MAX + 1]; /* of its reservation, and then of its job */
	uint64_t cookie, began_us;
	enum placement_phase phase;
	bool kernel, explicit_node;
	bool adopted; /* of an agent before this one, by what its stub says */
	bool leaves; /* whatever the load */
	bool stopped, broken; /* while it is away: its task is; there is no connection */
	unsigned int calls; /* calls in progress that will return to it */
	placement_fn decided;
	placement_send_fn send;
	void (*found)(struct placement *p); /* `to` is set */
	void *ctx;
	struct event *timer; /* time limit, later the lease */
	pid_t pid, remote;
	uid_t uid;
	char *path, command[64];
	struct eligible *judge; /* whether it may leave; NULL: that is not asked */
	struct files_question *question; /* about its program and directory; NULL: none is open */
	json_t *program, *folder; /* their identities; NULL: not known */
	enum view view;
	struct peer *to, *tried[PLACEMENT_TRIES];
	unsigned int ntried, time_ms, probes;
	struct eh_probe decider; /* the controller that chose `to` */
	bool by_credit; /* `to` was found by `credit` */
	bool retries; /* it runs on a node that is slower, see learn_retries() */
	bool with_job; /* `to` was asked for a place with the job (POST /v1/start) */
	struct label_wish *wish; /* of the labels of its executor; NULL: none */
	unsigned int nunfit; /* nodes that had others */
	enum ehs_reason refusal; /* of an executor, which says more than no-receiver */
	unsigned int ncredits; /* that were asked for */
	struct eh_credit credit;
	enum ehs_reason reason;
	char text[200];
	int64_t started; /* wall clock, ms */
	/* for history.c */
	char session[64]; /* "": none */
	char *arguments; /* NULL: none are kept */
	bool used; /* processor time and memory are known */
	double cpu_user, cpu_system; /* seconds */
	int64_t memory, bytes; /* the most of the first; bytes that went between the nodes */
	/* for learn.c */
	bool learns; /* its run is remembered */
	uint64_t cost_key; /* 0: the program cannot be told */
	uint64_t started_us; /* when it started elsewhere; 0: has not */
	uint64_t takes; /* bytes of memory that it is expected to take; 0: not known */
	bool is_expected;
	struct cost_expected expected;
	struct timing timing; /* of its steps here */
	unsigned int nsteps;
	struct record_step steps[RECORD_STEPS];
};

/** Creates a record, undecided, with a timer that calls `on_timer`. NULL: out of memory. */
struct placement *record_new(struct agent *agent, const struct placement_task *task,
			     event_callback_fn on_timer);
/** Whether it is still to be decided: an answer that comes while it is being decided is too late. */
static inline bool placement_is_open(const struct placement *p)
{
	return p->phase == PLACEMENT_OPEN && p->decided;
}

/** Whether this is the ID of a placement of this node. */
bool record_id_is_ours(const struct agent *agent, const char *id);
/** Creates the record of a task that is away already, as its stub tells it. NULL: out of memory, or
 *  its ID is known. */
struct placement *record_adopt(struct agent *agent, const struct attach *who, struct peer *to,
			       pid_t pid, uid_t uid);
/** Keeps arguments, of which the first is the program's name, if the configuration says so. */
void record_arguments(struct placement *p, const char *const *argv);
/** What is left of its time limit, in ms; at least 1. */
unsigned int record_time_left(const struct placement *p);
/** This step is now. */
void record_time(struct placement *p, enum timing_step step);
/** The connection between its two ends broke, or there is one again. */
void record_broken(struct placement *p, bool broken);
/** Adds a step for `why`. When all are used, the last one is replaced. */
void record_step(struct placement *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/** Hold it while a call that will return to it is in progress. */
void record_hold(struct placement *p);
void record_release(struct placement *p);
/** It is over. It is kept until 1024 later ones are over, and at least while it is held. */
void record_over(struct placement *p);

struct placement *record_by_id(struct agent *agent, const char *id); /**< NULL: unknown */
/** By the kernel's cookie. */
struct placement *record_by_cookie(struct agent *agent, uint64_t cookie);
/** How many of a user's are not decided yet. */
unsigned int record_open(const struct agent *agent, uid_t uid);
/** Appends the tasks that are away to `tasks`, in the form of `tasks --json`. */
void record_list(struct agent *agent, json_t *tasks);
/** Appends the IDs of all records to `ids`. */
void record_ids(struct agent *agent, json_t *ids);
/** Whether record_list() includes it. */
bool record_is_away(const struct placement *p);
/** The last placement of a process with this pid, which may have ended. NULL: unknown. */
struct placement *record_by_pid(struct agent *agent, pid_t pid);
/** Reply to `why`, which the caller owns. */
json_t *record_why(const struct placement *p);

int record_init(struct agent *agent); /**< 0 or -ENOMEM */
void record_exit(struct agent *agent);

#endif
