/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file roster.h
 * Which host has which code: the table that all agents of a cluster share.
 * Pure: no I/O, clock or globals (enrol.c has the agent's own roster).
 *
 * An entry says that a host has a code, or had it (`left`). Changes are made
 * by the top controller, each with a higher version; entries of version 0 come
 * from configuration files. Rosters are merged entry by entry: for a code the
 * higher version wins, then the lexically smaller host; so the order of merges
 * does not matter, and after a partition all agree again. A host has only one
 * code: of its entries the one with the highest version is valid (then the
 * lower code).
 */
#ifndef CLUSTER_ROSTER_H
#define CLUSTER_ROSTER_H

#include <jansson.h>
#include <stdbool.h>
#include "address.h"
#include "eh/topology.h"

#define ROSTER_VERSION_MAX (1ull << 40)
/** More changes are never made while an agent does not look. */
#define ROSTER_STEP_MAX (1ull << 20)

struct roster;

struct roster_entry {
	uint32_t index; /**< of the code, level 0 */
	char host[ADDRESS_HOST_MAX + 1]; /**< CN of its certificate */
	struct address address;
	uint64_t version; /**< 0: from a configuration file */
	bool left; /**< the host has left permanently */
};

struct roster *roster_new(const struct eh_topology *topology); /**< empty; NULL: no memory */
void roster_free(struct roster *r);
const struct eh_topology *roster_topology(const struct roster *r);

/** All entries by code, including those that are not valid; NULL after the last. */
const struct roster_entry *roster_at(const struct roster *r, size_t i);
/** Whether the entry is valid and its host has not left. */
bool roster_is_member(const struct roster *r, const struct roster_entry *e);
/** The member with this code, or NULL. */
const struct roster_entry *roster_by_code(const struct roster *r, uint32_t index);
/** The valid entry of a host, which may have left; or NULL. */
const struct roster_entry *roster_by_host(const struct roster *r, const char *host);

/** Adds an entry if it wins over the one with the same code. Returns 1 (added), 0 (not) or
 *  -ENOMEM. */
int roster_add(struct roster *r, const struct roster_entry *e);
/** Drops an entry of version 0: a reload took it out of the configuration. */
void roster_drop(struct roster *r, uint32_t index);
/** By how many changes `from` is ahead of `r`. */
uint64_t roster_ahead(const struct roster *r, const struct roster *from);
/** Returns 1 if `r` has changed; 0, -ENOMEM, -EINVAL (other topology) or -ERANGE (`from` is ahead by
 *  more than ROSTER_STEP_MAX) if it has not. */
int roster_merge(struct roster *r, const struct roster *from);

/** A decision of the top controller. A host that joins gets the code it has or had, else the one
 *  that it prefers (`wish`, or NULL), else the lowest free one. With `only` it gets `wish`, with
 *  which it already runs, or none. Returns 0, -ENOSPC (no free code), -EEXIST (`wish` is taken),
 *  -ERANGE (its version is at the limit) or -ENOMEM. */
int roster_enter(struct roster *r, const char *host, const struct address *address,
		 const uint32_t *wish, bool only, uint32_t *index);
/** Returns 0, -ENOENT (not a member), -ERANGE or -ENOMEM. */
int roster_leave(struct roster *r, const char *host);

/** Grows with each change of an entry whose version is not 0, and differs if two rosters differ
 *  (a hash tells apart equal counts of changes). 0: only entries of version 0. */
uint64_t roster_stamp(const struct roster *r);

/** {"topology":{"n","l"},"version":STAMP,"roster":[{"code","host","address","version","left"?}]};
 *  NULL: no memory. */
json_t *roster_to_json(const struct roster *r);
/** Returns NULL with the reason in *why on failure. */
struct roster *roster_from_json(const json_t *body, const char **why);

#endif
