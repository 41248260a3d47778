/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file roster_inside.h  What a roster consists of, for roster.c and roster_json.c. */
#ifndef CLUSTER_ROSTER_INSIDE_H
#define CLUSTER_ROSTER_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "eh/topology.h"

#define ROSTER_HASH_BITS 20

struct roster_entry;

struct roster {
	struct eh_topology topology;
	uint64_t changes; /* at least the highest version */
	bool part; /* what it lacks says nothing */
	struct roster_entry *entries; /* by code */
	uint32_t *by_host; /* their numbers by host, the one that counts first */
	size_t n, room;
};

/** The entry of this code, valid or not; or NULL. */
const struct roster_entry *roster_entry_of(const struct roster *r, uint32_t index);
/** Makes room for `n` entries in all. Returns 0 or -ENOMEM. */
int roster_reserve(struct roster *r, size_t n);
/** Puts an entry where there is room for it, if it wins. roster_sort_hosts() must follow. */
bool roster_put(struct roster *r, const struct roster_entry *e);
void roster_sort_hosts(struct roster *r);

#endif
