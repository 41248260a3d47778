/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file recent.h
 * Events of all nodes, by looking again and again (the request `events` of the agent): looks overlap,
 * because nodes answer late, and each event is told once.
 */
#ifndef TOOLS_RECENT_H
#define TOOLS_RECENT_H

#include <jansson.h>
#include <stdbool.h>

#define RECENT_EACH_S 1 /* between two looks */

struct recent {
	double begun, complete; /**< the last look; the last one that all nodes answered */
	json_t *told; /**< of each event, when the last look at it began; until no look can have it */
};

/** False: no more is wanted. */
typedef bool (*recent_fn)(void *ctx, json_t *event);

/** From now on; a moment before is looked at, too. False: out of memory. */
bool recent_begin(struct recent *r);
/** The request of the next look. The caller owns it. */
json_t *recent_question(struct recent *r);
/** Tells what is new in the answer, the oldest first; `self` is the node that tells it. */
void recent_take(struct recent *r, const json_t *answer, recent_fn tell, void *ctx);
void recent_end(struct recent *r);

#endif
