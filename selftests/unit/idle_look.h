/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a node with credits (eh/idle.h) knows, by the inside of its structs. */
#ifndef UNIT_IDLE_LOOK_H
#define UNIT_IDLE_LOOK_H

#include "eh/idle_inside.h"
#include "eh/pool_inside.h"

/* Credits of a tier that the controller of level 1 on this node could let be taken now. */
static inline unsigned int idle_credits(const struct eh_idle *i, unsigned int tier)
{
	const struct eh_pool *pool = i->rank ? i->leads[1].pool : NULL;
	unsigned int count = 0;

	for (unsigned int k = 0; pool && k < pool->size; k++) {
		const struct pool_child *c = &pool->children[k];

		if (c->present && c->offer.processors)
			count += eh_offer_count(&c->offer, c->next, tier);
	}
	return count;
}

#endif
