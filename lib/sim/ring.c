// SPDX-License-Identifier: GPL-2.0-or-later
#include "ring.h"

#include <stdlib.h>
#include <string.h>

#define RING_BEGIN 256

static char *ring_entry(const struct ring *r, size_t i)
{
	return r->entries + ((r->first + i) & (r->size - 1)) * r->each;
}

bool ring_reserve(struct ring *r)
{
	size_t size = r->size ? 2 * r->size : RING_BEGIN;
	char *entries;

	if (r->count < r->size)
		return true;
	entries = malloc(size * r->each);
	if (!entries)
		return false;
	for (size_t i = 0; i < r->count; i++)
		memcpy(entries + i * r->each, ring_entry(r, i), r->each);
	free(r->entries);
	r->entries = entries;
	r->size = size;
	r->first = 0;
	return true;
}

bool ring_add(struct ring *r, const void *added)
{
	if (!ring_reserve(r))
		return false;
	memcpy(ring_entry(r, r->count++), added, r->each);
	return true;
}

void *ring_first(const struct ring *r)
{
	return r->count ? ring_entry(r, 0) : NULL;
}

void ring_drop(struct ring *r)
{
	r->first = (r->first + 1) & (r->size - 1);
	r->count--;
}

void ring_free(struct ring *r)
{
	free(r->entries);
}
