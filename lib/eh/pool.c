// SPDX-License-Identifier: GPL-2.0-or-later
#include "pool.h"

#include <stdlib.h>

#include "pool_inside.h"
#include "rule.h"

/* Where the children begin. */
static size_t pool_head(unsigned int n)
{
	const size_t align = _Alignof(struct pool_child);

	return (sizeof(struct eh_pool) + (sizeof(struct eh_best) << n) + align - 1) / align * align;
}

size_t eh_pool_bytes(unsigned int n)
{
	return pool_head(n) + (sizeof(struct pool_child) << n);
}

struct eh_pool *eh_pool_new(unsigned int n)
{
	struct eh_pool *pool = calloc(1, eh_pool_bytes(n));

	if (pool) {
		pool->size = 1u << n;
		pool->children = (struct pool_child *)((char *)pool + pool_head(n));
		for (unsigned int i = 0; i < pool->size; i++)
			pool->best[i].tier = EH_TIERS;
	}
	return pool;
}

void eh_pool_free(struct eh_pool *pool)
{
	free(pool);
}

static void pool_set_best(struct eh_pool *pool, unsigned int child, struct eh_best best)
{
	pool->count[pool->best[child].tier] -= pool->best[child].count;
	pool->best[child] = best;
	pool->count[best.tier] += best.count;
}

static void pool_set_none(struct eh_pool *pool, unsigned int child)
{
	pool_set_best(pool, child, (struct eh_best){ EH_TIERS, 0 });
}

/* Of a node. */
static void pool_look(struct eh_pool *pool, unsigned int child)
{
	const struct pool_child *c = &pool->children[child];
	struct eh_best best = { 0 };
	uint64_t serial;

	best.tier = eh_offer_next(&c->offer, c->next, &serial);
	if (best.tier < EH_TIERS)
		best.count = eh_offer_count(&c->offer, c->next, best.tier);
	pool_set_best(pool, child, best);
}

void eh_best_take(struct eh_best *best)
{
	if (best->count != EH_MANY && best->count && !--best->count)
		eh_best_none(best, best->tier);
}

void eh_best_none(struct eh_best *best, unsigned int tier)
{
	if (best->tier > tier || best->tier == EH_TIERS)
		return;
	*best = (struct eh_best){ tier + 1, tier + 1 < EH_TIERS ? EH_MANY : 0 };
}

void eh_pool_offer(struct eh_pool *pool, unsigned int child, uint32_t node,
		   const struct eh_offer *offer, uint64_t now)
{
	struct pool_child *c = &pool->children[child];
	bool same = c->node == node && c->offer.life == offer->life;

	/* A node that was gone may be back with its clock set back. */
	if (!eh_offer_is_sound(offer) ||
	    (c->present && c->node == node && c->offer.life > offer->life) ||
	    (same && c->offer.version > offer->version))
		return;
	/* `next` outlives silence: what was taken is never to be taken again */
	if (!same)
		c->next = 0;
	c->present = true;
	c->node = node;
	c->heard = now;
	c->offer = *offer;
	pool_look(pool, child);
}

void eh_pool_some(struct eh_pool *pool, unsigned int child, uint32_t node,
		  const struct eh_best *best, uint64_t version, uint64_t now)
{
	struct pool_child *c = &pool->children[child];

	if (c->present && c->node == node && c->offer.version > version)
		return;
	*c = (struct pool_child){
		.present = true, .node = node, .heard = now, .offer = { .version = version }
	};
	if (best->tier < EH_TIERS && best->count && best->count <= EH_MANY)
		pool_set_best(pool, child, *best);
	else
		pool_set_none(pool, child);
}

void eh_pool_none(struct eh_pool *pool, unsigned int child, unsigned int tier)
{
	struct eh_best best = pool->best[child];

	eh_best_none(&best, tier);
	pool_set_best(pool, child, best);
}

void eh_pool_gone(struct eh_pool *pool, uint32_t node)
{
	for (unsigned int i = 0; i < pool->size; i++)
		if (pool->children[i].node == node) {
			pool->children[i].present = false;
			pool_set_none(pool, i);
		}
}

void eh_pool_expire(struct eh_pool *pool, uint64_t now, uint64_t lease)
{
	for (unsigned int i = 0; i < pool->size; i++) {
		struct pool_child *c = &pool->children[i];

		if (c->present && now - c->heard >= lease) {
			c->present = false;
			pool_set_none(pool, i);
		}
	}
}

struct eh_best eh_pool_best(const struct eh_pool *pool)
{
	for (unsigned int tier = 0; tier < EH_TIERS; tier++)
		if (pool->count[tier])
			return (struct eh_best){ tier, pool->count[tier] < EH_MANY
							       ? (unsigned int)pool->count[tier]
							       : EH_MANY };
	return (struct eh_best){ EH_TIERS, 0 };
}

/* A child of the lowest tier, at random. False: that is above `most`. */
static bool pool_pick(const struct eh_pool *pool, unsigned int most, uint64_t *random,
		      unsigned int *child)
{
	unsigned int tier = eh_pool_best(pool).tier;

	if (tier > most || tier == EH_TIERS)
		return false;
	for (*child = eh_random_below(random, pool->size); pool->best[*child].tier != tier;)
		*child = *child + 1 < pool->size ? *child + 1 : 0;
	return true;
}

bool eh_pool_take(struct eh_pool *pool, unsigned int most, unsigned int home, uint64_t *random,
		  struct eh_credit *credit)
{
	struct pool_child *c;
	unsigned int child;

	if (!pool_pick(pool, most, random, &child))
		return false;
	if (home < pool->size && pool->best[home].tier == pool->best[child].tier)
		child = home;
	c = &pool->children[child];
	*credit = (struct eh_credit){ .node = c->node, .life = c->offer.life };
	credit->tier = eh_offer_next(&c->offer, c->next, &credit->serial);
	c->next = credit->serial + 1;
	pool_look(pool, child);
	return true;
}

bool eh_pool_pick(struct eh_pool *pool, unsigned int most, uint64_t *random, uint32_t *node)
{
	struct eh_best best;
	unsigned int child;

	if (!pool_pick(pool, most, random, &child))
		return false;
	*node = pool->children[child].node;
	best = pool->best[child];
	eh_best_take(&best);
	pool_set_best(pool, child, best);
	return true;
}

uint64_t eh_pool_next(const struct eh_pool *pool, unsigned int child)
{
	return pool->children[child].next;
}
