/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file reserve.h
 * Reservations of this node, between a home's POST /v1/reserve and its job.
 */
#ifndef AGENT_EXECUTOR_RESERVE_H
#define AGENT_EXECUTOR_RESERVE_H

#include <event2/event.h>
#include <jansson.h>
#include <linux/ehsched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "eh/topology.h"
#include "net/peer.h"
#include "wire/view.h"

#define RESERVE_ID_MAX (EH_CODE_TEXT + 24) /* "HOME:COOKIE" */

struct agent;
struct server_answer;

enum reserve_state {
	RESERVE_WAITING, /**< for its job, until the lease is over */
	RESERVE_CLAIMED, /**< its guest starts */
	RESERVE_RUNNING,
	RESERVE_ENDED, /**< its guest's process has ended; children of it may go on */
};

/** A place here, from the answer to POST /v1/reserve to the end of its guest. */
struct reservation {
	struct reservation *next;
	enum reserve_state state;
	struct peer *from;
	struct event *lease;
	uint64_t size; /**< thousandths of a task */
	uid_t uid;
	char id[RESERVE_ID_MAX], token[EHS_TOKEN_MAX + 1];
	char *command;
	enum view view; /**< AUTO: the executor's files, as far as was seen yet */
};

int reserve_init(struct agent *agent); /**< 0 or -ENOMEM */
void reserve_exit(struct agent *agent);

/** Handler of POST /v1/reserve; answers later, because the digest of the program may take a while. */
void reserve_on_request(struct agent *agent, struct peer *from, const json_t *body,
			struct server_answer *answer);

/** The reservation that this peer's token names is its guest's from now; NULL: unknown or over. The
 *  guest moves its state, and ends it. */
struct reservation *reserve_claim(const struct peer *from, const char *token);
/** The place is free again; NULL: nothing. */
void reserve_end(struct reservation *r);

/** Guests that have not ended. */
unsigned int reserve_guests(struct agent *agent);
/** Load of guests that have not started, in thousandths of a task. */
uint64_t reserve_starting_load(struct agent *agent);
/** The same with reservations that wait for their job. */
uint64_t reserve_load(struct agent *agent);

#endif
