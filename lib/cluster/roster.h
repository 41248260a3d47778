/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file roster.h
 * Which host has which code: the table that all agents of a cluster share.
 * Pure: no I/O, clock or globals (agent/cluster/own_roster.c has the agent's own roster).
 *
 * An entry says that a host has a code, or had it (`left`). Changes are made
 * by the top controller, each with a higher version; entries of version 0 come
 * from configuration files. Rosters are merged entry by entry: for a code the
 * higher version wins, then the lexically smaller host; so the order of merges
 * does not matter, and after a partition all agree again. A host has only one
 * code: of its entries the one with the highest version is valid (then the
 * lower code). Of two entries that say the same, the one with the younger
 * certificate wins.
 *
 * Nothing here looks at what proves an entry: it is carried along. What a member may say is decided
 * before a merge (agent/cluster/vouch.c, docs/decisions/0013).
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
	/** NULL, or strings: `cert` and `sign` of the host, `by` and `grant` of who gave it the code.
	 *  A roster holds a reference of its own. */
	json_t *proof;
};

struct roster *roster_new(const struct eh_topology *topology); /**< empty; NULL: no memory */
void roster_free(struct roster *r);
const struct eh_topology *roster_topology(const struct roster *r);

size_t roster_count(const struct roster *r); /**< entries, also those that are not valid */
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
/** Whether roster_add() would add it. */
bool roster_wins(const struct roster *r, const struct roster_entry *e);
/** Replaces what proves the entry of this code. */
void roster_prove(struct roster *r, uint32_t index, json_t *proof);
/** Drops all entries for which `keep` returns false. */
void roster_filter(struct roster *r, bool (*keep)(void *ctx, const struct roster_entry *e),
		   void *ctx);
/** Drops an entry of version 0: a reload took it out of the configuration. */
void roster_drop(struct roster *r, uint32_t index);
/** Changes so far: at least the highest version. */
uint64_t roster_changes(const struct roster *r);
/** Counts a change that is not of an entry's version: a host signed its entry again. */
void roster_raise(struct roster *r);
/** By how many changes `from` is ahead of `r`. */
uint64_t roster_ahead(const struct roster *r, const struct roster *from);
/** Returns 1 if `r` has changed; 0, -ENOMEM, -EINVAL (other topology) or -ERANGE (`from` is ahead by
 *  more than ROSTER_STEP_MAX) if it has not. */
int roster_merge(struct roster *r, const struct roster *from);

/** A decision of the top controller. A host that joins gets the code it has or had, else the one
 *  that it prefers (`wish`, or NULL), else the lowest free one. With `only` it gets `wish`, with
 *  which it already runs, or none. `r` changes only if `held` is NULL: else what was decided goes
 *  there, where it holds the code for the host until the host has signed for it. Returns 0, -ENOSPC
 *  (no free code), -EEXIST (`wish` is taken), -ERANGE (its version is at the limit) or -ENOMEM. */
int roster_enter(struct roster *r, struct roster *held, const char *host,
		 const struct address *address, const uint32_t *wish, bool only, uint32_t *index);
/** Another decision: a host that joins gets the code of a host that is dead, whose entry is replaced
 *  when the new one has signed. In `held`, as above. Returns 0, -ERANGE or -ENOMEM. */
int roster_pass_on(const struct roster *r, struct roster *held, const char *host,
		   const struct address *address, uint32_t index);
/** Whether the code is held for another host than this one. */
bool roster_is_held(const struct roster *r, const struct roster *held, const char *host,
		    uint32_t index);
/** What a member says that leaves, in *out. Returns 0, -ENOENT (not a member) or -ERANGE. */
int roster_leaving(const struct roster *r, const char *host, struct roster_entry *out);

/** Grows with each change of an entry whose version is not 0, and differs if two rosters differ
 *  (a hash tells apart equal counts of changes). 0: only entries of version 0. */
uint64_t roster_stamp(const struct roster *r);

#endif
