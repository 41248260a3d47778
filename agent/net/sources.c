// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/sources.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(1000 % SOURCES_RATE == 0 && 1000 % SOURCES_STRANGE == 0, "a step is of whole ms");

static int sources_by_key(const void *a, const void *b)
{
	const struct sources_bucket *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

/* A bucket is a time: each connection takes it a step into the future, which is bounded. */
static bool sources_may(const struct sources_bucket *b, unsigned int rate, unsigned int burst,
			uint64_t now)
{
	return b->full_at <= now || b->full_at - now <= (burst - 1) * 1000ull / rate;
}

static void sources_count(struct sources_bucket *b, unsigned int rate, uint64_t now)
{
	b->full_at = (b->full_at > now ? b->full_at : now) + 1000 / rate;
}

static struct sources_bucket *sources_member(const struct sources *s, uint64_t key)
{
	const struct sources_bucket wanted = { .key = key };

	return s->count ? bsearch(&wanted, s->members, s->count, sizeof(wanted), sources_by_key)
			: NULL;
}

/* If it is not there, it takes the place of the one that has done least: mostly nothing for a while. */
static struct sources_bucket *sources_stranger(struct sources *s, uint64_t key)
{
	const uint64_t set = (key * s->secret) >> 32 & (SOURCES_SETS - 1);
	struct sources_bucket *least = s->strangers[set];

	for (unsigned int i = 0; i < SOURCES_WAYS; i++) {
		struct sources_bucket *b = &s->strangers[set][i];

		if (b->key == key)
			return b;
		if (b->full_at < least->full_at)
			least = b;
	}
	*least = (struct sources_bucket){ .key = key };
	return least;
}

bool sources_take(struct sources *s, uint64_t key, uint64_t now)
{
	struct sources_bucket *b = sources_member(s, key);
	const bool strange = !b;

	b = b ?: sources_stranger(s, key);
	if (!sources_may(b, SOURCES_RATE, SOURCES_BURST, now) ||
	    (strange && !sources_may(&s->all, SOURCES_STRANGE, SOURCES_BURST, now)))
		return false;
	sources_count(b, SOURCES_RATE, now);
	if (strange)
		sources_count(&s->all, SOURCES_STRANGE, now);
	return true;
}

void sources_set_members(struct sources *s, struct sources_bucket *members, size_t count)
{
	const struct sources_bucket *had;
	size_t n = 0;

	qsort(members, count, sizeof(*members), sources_by_key);
	for (size_t i = 0; i < count; i++) {
		if (n && members[n - 1].key == members[i].key)
			continue;
		had = sources_member(s, members[i].key);
		members[n++] = (struct sources_bucket){ members[i].key, had ? had->full_at : 0 };
	}
	free(s->members);
	s->members = members;
	s->count = n;
}

void sources_init(struct sources *s, uint64_t secret)
{
	memset(s, 0, sizeof(*s));
	s->secret = secret | 1;
}

void sources_exit(struct sources *s)
{
	free(s->members);
	s->members = NULL;
	s->count = 0;
}
