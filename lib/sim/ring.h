/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file ring.h  A queue of entries of one size, first in, first out. */
#ifndef EH_RING_H
#define EH_RING_H

#include <stdbool.h>
#include <stddef.h>

/** Empty, but for `each`, in the beginning. */
struct ring {
	size_t each; /**< bytes of an entry */
	size_t first, count, size; /**< size is 0 or a power of 2 */
	char *entries;
};

/** Makes room for one more entry, so that the next ring_add() cannot fail. False: no memory. */
bool ring_reserve(struct ring *ring);
/** Copies an entry. False: no memory. */
bool ring_add(struct ring *ring, const void *entry);
/** The oldest, until the ring is changed; NULL: it is empty. */
void *ring_first(const struct ring *ring);
/** Removes the oldest, which there must be. */
void ring_drop(struct ring *ring);
void ring_free(struct ring *ring);

#endif
