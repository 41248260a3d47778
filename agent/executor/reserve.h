/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file reserve.h
 * Reservations: places on this node, from a home's POST /v1/reserve to the end of the guest.
 */
#ifndef AGENT_EXECUTOR_RESERVE_H
#define AGENT_EXECUTOR_RESERVE_H

#include <event2/event.h>
#include <jansson.h>
#include <linux/ehsched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "cluster/timing.h"
#include "eh/credit.h"
#include "executor/reserve_request.h"
#include "net/peer.h"
#include "node/memory.h"
#include "wire/launch.h"
#include "wire/view.h"

struct admit_refusal;
struct agent;
struct attach;
struct reserve_ask;
struct seen;
struct server_answer;

enum reserve_state {
	RESERVE_WAITING, /**< for its job, until the lease expires */
	RESERVE_CLAIMED, /**< its guest is starting */
	RESERVE_RUNNING,
	RESERVE_ENDED, /**< its guest's process has ended; children may still run */
};

/** A place on this node, from the answer to POST /v1/reserve to the end of its guest. */
struct reservation {
	struct reservation *next;
	enum reserve_state state;
	struct peer *from;
	struct event *lease;
	uint64_t size; /**< thousandths of a task */
	bool by_credit; /**< it came with this one: */
	struct eh_credit credit;
	uid_t uid; /**< at home */
	uid_t here; /**< on this node, if the site maps users */
	/** its name at home; "": of a guest that runs already, or it has none */
	char user[LAUNCH_USER_MAX];
	char id[RESERVE_ID_MAX], token[EHS_TOKEN_MAX + 1];
	char *command;
	struct memory_claim claim;
	struct timing timing; /**< of its steps here */
	enum view view; /**< VIEW_AUTO: the executor's files, unless a difference is found */
};

int reserve_init(struct agent *agent); /**< 0 or -ENOMEM */
void reserve_exit(struct agent *agent);

/** The answer to a request for a place, in the form of that to POST /v1/reserve; `granted` NULL: there is none. */
typedef void (*reserve_fn)(void *ctx, int status, json_t *reply_stolen,
			   struct reservation *granted);
/** A guest has its place, before it is known whether files are the same: its end is to tell what it sees. In the call
 *  of reserve_ask(). */
typedef void (*reserve_begin_fn)(void *ctx, struct reservation *r);
/**
 * Asks for a place. `done` is called once, later if the program must be looked at. With `begin` the place is that of a
 * guest, who waits for it, from the beginning: if begin() was called, the guest ends the place, whatever done() says.
 * Returns what can be cancelled, or NULL: `done` was called.
 */
struct reserve_ask *reserve_ask(struct peer *from, const json_t *body, reserve_begin_fn begin,
				reserve_fn done, void *ctx);
/** After begin(): what its end has seen. True: done() was called; else ehlook is asked now. */
bool reserve_ask_seen(struct reserve_ask *ask, const struct seen *said);
/** After begin(): files differ. done() is called. */
void reserve_ask_differs(struct reserve_ask *ask);
/** Nobody waits any more; `done` is not called. Not in or after its call. */
void reserve_cancel(struct reserve_ask *ask);
/** Handler of POST /v1/reserve. Answers later if the program must be looked at. */
void reserve_on_request(struct agent *agent, struct peer *from, const json_t *body,
			struct server_answer *answer);

/**
 * Claims the reservation that this peer's token names, for a guest. NULL: unknown or expired. The
 * guest sets its state from then on and ends it.
 */
struct reservation *reserve_claim(const struct peer *from, const char *token);
/** The place of a guest that runs already, as its ehguest tells it. NULL: out of memory, an ID that is
 *  not this home's, or one that is known. */
struct reservation *reserve_adopt(struct peer *from, const struct attach *who, uid_t uid,
				  uid_t here);
/** Frees the place; `r` may be NULL. */
void reserve_end(struct reservation *r);

/** reserve_memory.c: memory for one that is not granted yet. Others may lose theirs for it. */
bool reserve_memory_admits(const struct reservation *asking, struct admit_refusal *no);
/** The next of all reservations; the first one after NULL. */
struct reservation *reserve_next(const struct agent *agent, const struct reservation *r);
/** Number of this peer's reservations that wait for their job. */
unsigned int reserve_waiting(const struct peer *from);
/** Number of guests that have not ended. */
unsigned int reserve_guests(struct agent *agent);
/** Load of guests that have not started, in thousandths of a task. */
uint64_t reserve_starting_load(struct agent *agent);
/** The same plus reservations that wait for their job. */
uint64_t reserve_load(struct agent *agent);

#endif
