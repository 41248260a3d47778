/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file exchange.h
 * Two members tell each other what the other lacks of the roster, part by part (lib/cluster/parts.h).
 */
#ifndef AGENT_CLUSTER_EXCHANGE_H
#define AGENT_CLUSTER_EXCHANGE_H

#include <jansson.h>
#include <stdbool.h>

struct agent;
struct peer;

/** `done` may be NULL; `reached`: each side now has what it takes of the other's. */
typedef void (*exchange_done_fn)(struct peer *with, bool reached);
/** Begins one. With a peer of an older release it is one of whole rosters. 0 or -ENOMEM: `done` is
 *  not called. */
int exchange_begin(struct peer *with, exchange_done_fn done);

/** GET /v1/roster, also for hosts that are not members: what fits into a body. */
json_t *exchange_on_get(struct agent *agent, struct peer *from, const json_t *body, int *status);
/** POST /v1/roster: merges a member's roster into ours and returns the result. */
json_t *exchange_on_whole(struct agent *agent, struct peer *from, const json_t *body, int *status);
/** POST /v1/roster/parts: says which parts differ, or merges one and returns what the other lacks. */
json_t *exchange_on_parts(struct agent *agent, struct peer *from, const json_t *body, int *status);

#endif
