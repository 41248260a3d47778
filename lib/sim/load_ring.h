/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file load_ring.h  A queue of entries of one size, first in, first out. */
#ifndef EH_LOAD_RING_H
#define EH_LOAD_RING_H

#include <stdbool.h>
#include <stddef.h>

/** Empty, but for `each`, in the beginning. */
struct load_ring {
	size_t each; /**< bytes of an entry */
	size_t first, count, size; /**< size is 0 or a power of 2 */
	char *entries;
};

/** Copies an entry. False: no memory. */
bool load_ring_add(struct load_ring *ring, const void *entry);
/** The oldest, until the ring is changed; NULL: it is empty. */
void *load_ring_first(const struct load_ring *ring);
/** Removes the oldest, which there must be. */
void load_ring_drop(struct load_ring *ring);
void load_ring_free(struct load_ring *ring);

#endif
