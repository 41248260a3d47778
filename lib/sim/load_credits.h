/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file load_credits.h
 * Policy `idle`: each node has the part in it that an agent has (eh/idle.h), and all messages between them are
 * delivered. What a node tells of its own credits arrives as late as `age` says, all others at once; none is lost.
 * Leaders do not change, so heartbeats have nothing to say, and there are none.
 */
#ifndef EH_LOAD_CREDITS_H
#define EH_LOAD_CREDITS_H

#include "load_inside.h"

#include "eh/credit.h"

/** What an exec that has asked gets; NULL: there is no credit. */
typedef void (*load_credits_fn)(struct eh_load *load, uint32_t task,
				const struct eh_credit *credit);

/** All nodes are free, and known to be. 0 or -ENOMEM. */
int load_credits_init(struct eh_load *load, load_credits_fn answered);
void load_credits_free(struct eh_load *load);
size_t load_credits_bytes(const struct eh_load *load);
/** Messages that the node with the most has sent or got as a controller. */
uint64_t load_credits_busiest(const struct eh_load *load);
/** The number of tasks on this node is another. */
void load_credits_tell(struct eh_load *load, uint32_t node);
/** An exec at its home finds no free processor: `answered` is called, perhaps before this returns. */
void load_credits_want(struct eh_load *load, uint32_t task);
/** A task comes to its node by this credit. Returns whether it is still good. */
bool load_credits_accept(struct eh_load *load, const struct eh_credit *credit);
/** A home does not use this credit. */
void load_credits_return(struct eh_load *load, uint32_t home, const struct eh_credit *credit);
/** When the next message arrives, or an exec has waited long enough; INFINITY: nothing is under way. */
double load_credits_due(const struct eh_load *load);
/** It happens, now. */
void load_credits_happen(struct eh_load *load);

#endif
