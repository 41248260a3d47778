// SPDX-License-Identifier: GPL-2.0-or-later
#include "idle_look.h"

#include "eh/pool_inside.h"

unsigned int idle_credits(const struct eh_idle *i, unsigned int tier)
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
