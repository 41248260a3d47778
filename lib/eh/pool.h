/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file pool.h
 * What a controller knows of the credits below it (credit.h): those of its nodes
 * on level 1, and above that which of its groups have some. Pure.
 */
#ifndef EH_POOL_H
#define EH_POOL_H

#include "credit.h"

#include <stddef.h>

struct eh_pool;

#define EH_MANY 0xffff /**< of credits: nobody has counted */

/** What is known of the credits of a group. */
struct eh_best {
	unsigned int tier; /**< lowest of which there are some; EH_TIERS: there are none */
	unsigned int count; /**< of that tier, or EH_MANY */
};

/** An ask has been sent to the group: one is taken. When none is left, the next tier is supposed to have some. */
void eh_best_take(struct eh_best *best);
/** There are none up to this tier after all. */
void eh_best_none(struct eh_best *best, unsigned int tier);

/** Of 2^n children. NULL: no memory. */
struct eh_pool *eh_pool_new(unsigned int n);
void eh_pool_free(struct eh_pool *pool);
/** Of memory, for each. */
size_t eh_pool_bytes(unsigned int n);
/** A node's offer. One that is older than the last is ignored. */
void eh_pool_offer(struct eh_pool *pool, unsigned int child, uint32_t node,
		   const struct eh_offer *offer, uint64_t now);
/** What a group has. `node` leads it. Older ones are ignored if they are of the same node. */
void eh_pool_some(struct eh_pool *pool, unsigned int child, uint32_t node,
		  const struct eh_best *best, uint64_t version, uint64_t now);
/** A group has none up to this tier after all. */
void eh_pool_none(struct eh_pool *pool, unsigned int child, unsigned int tier);
/** The node is gone, and with it what it told. */
void eh_pool_gone(struct eh_pool *pool, uint32_t node);
/** Drops what was not told again for `lease`. */
void eh_pool_expire(struct eh_pool *pool, uint64_t now, uint64_t lease);
/** What there is below. */
struct eh_best eh_pool_best(const struct eh_pool *pool);
/** Takes a credit of the lowest tier of a node, if there is one up to `most`; never the same again. `home`: the
 *  child that is preferred to others of the same tier, or 2^n. False: there is none. */
bool eh_pool_take(struct eh_pool *pool, unsigned int most, unsigned int home, uint64_t *random,
		  struct eh_credit *credit);
/** A group that has some of the lowest tier, up to `most`: the node that leads it, which is to get an ask. False:
 *  there is none. */
bool eh_pool_pick(struct eh_pool *pool, unsigned int most, uint64_t *random, uint32_t *node);
/** The first number that this node may still use: those below are taken. */
uint64_t eh_pool_next(const struct eh_pool *pool, unsigned int child);

#endif
