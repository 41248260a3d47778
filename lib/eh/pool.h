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

/** Of 2^n children. NULL: no memory. */
struct eh_pool *eh_pool_new(unsigned int n);
void eh_pool_free(struct eh_pool *pool);
/** A node's offer. One that is older than the last is ignored. */
void eh_pool_offer(struct eh_pool *pool, unsigned int child, uint32_t node,
		   const struct eh_offer *offer, uint64_t now);
/** A group has credits of the tiers whose bits are set; `node` leads it. Older ones are ignored if
 *  they are of the same node. */
void eh_pool_some(struct eh_pool *pool, unsigned int child, uint32_t node, unsigned int tiers,
		  uint64_t version, uint64_t now);
/** A group has none of a tier after all. */
void eh_pool_none(struct eh_pool *pool, unsigned int child, unsigned int tier);
/** The node is gone, and with it what it told. */
void eh_pool_gone(struct eh_pool *pool, uint32_t node);
/** Drops what was not told again for `lease`. */
void eh_pool_expire(struct eh_pool *pool, uint64_t now, uint64_t lease);
/** Tiers of which there are some, as bits. */
unsigned int eh_pool_tiers(const struct eh_pool *pool);
/** Takes a credit of a node; never the same again. False: there is none. */
bool eh_pool_take(struct eh_pool *pool, unsigned int tier, uint64_t *random,
		  struct eh_credit *credit);
/** A group that has some: the node that leads it. False: there is none. */
bool eh_pool_pick(struct eh_pool *pool, unsigned int tier, uint64_t *random, uint32_t *node);
/** The first number of a tier that this node may still use: those below are taken. */
uint64_t eh_pool_next(const struct eh_pool *pool, unsigned int child, unsigned int tier);
/** Credits of nodes that can be taken. */
unsigned int eh_pool_count(const struct eh_pool *pool, unsigned int tier);

#endif
