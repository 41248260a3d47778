// SPDX-License-Identifier: GPL-2.0-or-later
#include "pool.h"

#include <stdlib.h>

#include "rule.h"

struct pool_child {
	bool present;
	uint32_t node;
	uint64_t heard;
	struct eh_offer offer; /* of a node; version: of a group too */
	uint64_t next[EH_TIERS]; /* those below are taken */
	unsigned int tiers; /* of which it has some */
};

struct eh_pool {
	unsigned int size;
	struct pool_child children[];
};

struct eh_pool *eh_pool_new(unsigned int n)
{
	struct eh_pool *pool = calloc(1, sizeof(*pool) + (sizeof(pool->children[0]) << n));

	if (pool)
		pool->size = 1u << n;
	return pool;
}

void eh_pool_free(struct eh_pool *pool)
{
	free(pool);
}

static bool is_sound(const struct eh_offer *offer)
{
	for (unsigned int tier = 0; tier < EH_TIERS; tier++) {
		const struct eh_credit_range *r = &offer->tiers[tier];

		if (r->end < r->first || r->end - r->first > EH_CREDIT_WINDOW)
			return false;
	}
	return true;
}

static void look(struct pool_child *c)
{
	uint64_t serial;

	c->tiers = 0;
	for (unsigned int tier = 0; tier < EH_TIERS; tier++)
		c->tiers |= eh_credit_next(&c->offer.tiers[tier], c->next[tier], &serial) << tier;
}

void eh_pool_offer(struct eh_pool *pool, unsigned int child, uint32_t node,
		   const struct eh_offer *offer, uint64_t now)
{
	struct pool_child *c = &pool->children[child];
	bool same = c->node == node && c->offer.life == offer->life;

	/* A node that was gone may be back with its clock set back. */
	if (!is_sound(offer) || (c->present && c->node == node && c->offer.life > offer->life) ||
	    (same && c->offer.version > offer->version))
		return;
	/* `next` outlives silence: what was taken is never to be taken again */
	if (!same)
		for (unsigned int tier = 0; tier < EH_TIERS; tier++)
			c->next[tier] = 0;
	c->present = true;
	c->node = node;
	c->heard = now;
	c->offer = *offer;
	look(c);
}

void eh_pool_some(struct eh_pool *pool, unsigned int child, uint32_t node, unsigned int tiers,
		  uint64_t version, uint64_t now)
{
	struct pool_child *c = &pool->children[child];

	if (c->present && c->node == node && c->offer.version > version)
		return;
	*c = (struct pool_child){ .present = true,
				  .node = node,
				  .heard = now,
				  .tiers = tiers & ((1u << EH_TIERS) - 1),
				  .offer = { .version = version } };
}

void eh_pool_none(struct eh_pool *pool, unsigned int child, unsigned int tier)
{
	pool->children[child].tiers &= ~(1u << tier);
}

void eh_pool_gone(struct eh_pool *pool, uint32_t node)
{
	for (unsigned int i = 0; i < pool->size; i++)
		if (pool->children[i].node == node) {
			pool->children[i].present = false;
			pool->children[i].tiers = 0;
		}
}

void eh_pool_expire(struct eh_pool *pool, uint64_t now, uint64_t lease)
{
	for (unsigned int i = 0; i < pool->size; i++) {
		struct pool_child *c = &pool->children[i];

		if (c->present && now - c->heard >= lease) {
			c->present = false;
			c->tiers = 0;
		}
	}
}

unsigned int eh_pool_tiers(const struct eh_pool *pool)
{
	unsigned int tiers = 0;

	for (unsigned int i = 0; i < pool->size; i++)
		tiers |= pool->children[i].tiers;
	return tiers;
}

/* A child that has some, at random. */
static struct pool_child *pick(struct eh_pool *pool, unsigned int tier, uint64_t *random)
{
	uint32_t from = eh_random_below(random, pool->size);

	for (unsigned int i = 0; i < pool->size; i++) {
		struct pool_child *c = &pool->children[(from + i) % pool->size];

		if (c->tiers >> tier & 1)
			return c;
	}
	return NULL;
}

bool eh_pool_take(struct eh_pool *pool, unsigned int tier, uint64_t *random,
		  struct eh_credit *credit)
{
	struct pool_child *c = pick(pool, tier, random);

	if (!c)
		return false;
	*credit = (struct eh_credit){ .node = c->node, .tier = tier, .life = c->offer.life };
	if (!eh_credit_next(&c->offer.tiers[tier], c->next[tier], &credit->serial))
		return false;
	c->next[tier] = credit->serial + 1;
	look(c);
	return true;
}

bool eh_pool_pick(struct eh_pool *pool, unsigned int tier, uint64_t *random, uint32_t *node)
{
	struct pool_child *c = pick(pool, tier, random);

	if (c)
		*node = c->node;
	return c;
}

uint64_t eh_pool_next(const struct eh_pool *pool, unsigned int child, unsigned int tier)
{
	return pool->children[child].next[tier];
}

unsigned int eh_pool_count(const struct eh_pool *pool, unsigned int tier)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < pool->size; i++) {
		const struct pool_child *c = &pool->children[i];

		if (c->tiers >> tier & 1)
			count += eh_credit_count(&c->offer.tiers[tier], c->next[tier]);
	}
	return count;
}
