/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file credits.h
 * Policy `idle`: this node's part in the credits for free processors. Drives lib/eh/idle.h with
 * the peers' messages (POST /v1/credit), the roles and load that hierarchy.c has, and time. With
 * another policy there is none of it, and all calls do nothing.
 */
#ifndef AGENT_CLUSTER_CREDITS_H
#define AGENT_CLUSTER_CREDITS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "eh/credit.h"
#include "net/peer.h"

struct agent;
struct config;
struct server_answer;

int credits_init(struct agent *agent); /**< 0 or -ENOMEM */
void credits_exit(struct agent *agent);
/** The configuration was replaced: `policy` may be another. */
void credits_reload(struct agent *agent, const struct config *old, unsigned int rank,
		    uint32_t parent);

/** For hierarchy.c: what this node leads, and its parent (EH_NO_NODE: none). */
void credits_role(struct agent *agent, unsigned int rank, uint32_t parent);
/** For hierarchy.c: this peer ended or cannot be reached. */
void credits_gone(struct peer *peer);
/** For hierarchy.c: the load of this node may have changed. */
void credits_touch(struct agent *agent);
/** For hierarchy.c: called eight times a heartbeat, with the capacity of all nodes where this one is the top;
 *  else 0. */
void credits_tick(struct agent *agent, uint64_t capacity);

/** Whether the policy is `idle`. */
bool credits_on(const struct agent *agent);
/** Whether a processor of this node is free. */
bool credits_has_room(struct agent *agent);
/** Tasks that this node has, those that are about to start included. */
unsigned int credits_tasks(struct agent *agent);
/** A task has been decided to run here: it counts until the load has it. */
void credits_stays(struct agent *agent);

/** The credit, and its node; `to` NULL: there is none. This node without a credit: a processor
 *  here has become free. Borrowed during the call. */
typedef void (*credits_fn)(void *ctx, struct peer *to, const struct eh_credit *credit);
/** Asks for a credit for a placement, which may wait for `hold_ms` until a
 *  processor is free, here or elsewhere. `done` is called exactly once, perhaps at once, at the
 *  latest after `time_ms`; not after credits_exit(). */
void credits_want(struct agent *agent, unsigned int time_ms, unsigned int hold_ms, credits_fn done,
		  void *ctx);
/** Nobody will use this credit. Harmless if it was used. */
void credits_unused(struct agent *agent, const struct eh_credit *credit);
/** A task comes with a credit of this node: true once at most. */
bool credits_accept(struct agent *agent, const struct eh_credit *credit);

/** Handler of POST /v1/credit. */
void credits_on_message(struct agent *agent, struct peer *from, const json_t *body,
			struct server_answer *answer);

#endif
