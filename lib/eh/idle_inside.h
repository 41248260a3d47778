/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file idle_inside.h  Inside of struct eh_idle, for idle.c and the tests only. */
#ifndef EH_IDLE_INSIDE_H
#define EH_IDLE_INSIDE_H

#include "idle.h"
#include "pool.h"

struct idle_held {
	struct eh_idle_ask ask;
	uint64_t until;
};

/** What a controller has for one of its groups. */
struct idle_lead {
	struct eh_pool *pool;
	struct eh_best told; /**< what the level above supposes that there is */
};

struct eh_idle {
	struct eh_idle_options options;
	struct eh_purse purse;
	uint64_t random;
	unsigned int rank;
	uint32_t parent;
	struct idle_lead *leads; /**< 1..rank; NULL: it has led none yet */
	uint64_t version; /**< of what is told upward */
	uint64_t reign; /**< as the controller of level 1 */
	uint64_t leader_reign; /**< of the controller of level 1 over this node; 0: not known yet */
	uint64_t told_offer, beat_at;
	struct idle_held *held; /**< of the top; the first is answered first */
	unsigned int nheld, may_hold;

	/* of the step under way */
	uint64_t now;
	eh_idle_emit_fn emit;
	void *ctx;
};

#endif
