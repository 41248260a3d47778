// SPDX-License-Identifier: GPL-2.0-or-later
#include "load_ring.h"

#include <stdlib.h>
#include <string.h>

#define RING_BEGIN 256

static char *entry(const struct load_ring *r, size_t i)
{
	return r->entries + ((r->first + i) & (r->size - 1)) * r->each;
}

/* Twice the room, or some. */
static bool grow(struct load_ring *r)
{
	size_t size = r->size ? 2 * r->size : RING_BEGIN;
	char *entries = malloc(size * r->each);

	if (!entries)
		return false;
	for (size_t i = 0; i < r->count; i++)
		memcpy(entries + i * r->each, entry(r, i), r->each);
	free(r->entries);
	r->entries = entries;
	r->size = size;
	r->first = 0;
	return true;
}

bool load_ring_add(struct load_ring *r, const void *added)
{
	if (r->count == r->size && !grow(r))
		return false;
	memcpy(entry(r, r->count++), added, r->each);
	return true;
}

void *load_ring_first(const struct load_ring *r)
{
	return r->count ? entry(r, 0) : NULL;
}

void load_ring_drop(struct load_ring *r)
{
	r->first = (r->first + 1) & (r->size - 1);
	r->count--;
}

void load_ring_free(struct load_ring *r)
{
	free(r->entries);
}
