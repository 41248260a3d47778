/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file reserve.h
 * Reservations: places on this node, from the answer to a home (reserve_ask.h) to the end of the guest.
 */
#ifndef AGENT_EXECUTOR_RESERVE_H
#define AGENT_EXECUTOR_RESERVE_H

#include <event2/event.h>
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

struct reservations {
	struct reservation *list;
	unsigned int checking; /**< requests in progress that have no place in the list yet */
};

int reserve_init(struct agent *agent); /**< 0 or -ENOMEM */
void reserve_exit(struct agent *agent);

/** A place for a guest of this peer, which is not in the list yet. NULL: out of memory. */
struct reservation *reserve_new(struct peer *from, const struct reserve_request *q);
/** Takes the place: it is in the list from now on. */
void reserve_enter(struct reservation *r);
/** Frees one that is not in the list. */
void reserve_free(struct reservation *r);
/** Whether this node has room for one more of this home; another home may lose a place for it. */
bool reserve_has_room(const struct peer *from);
/** Whether the guest of this ID is here. */
bool reserve_runs(struct agent *agent, const char *id);

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
