/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file group_inside.h  The inside of struct eh_group (eh.h), for lib/eh only. */
#ifndef EH_GROUP_INSIDE_H
#define EH_GROUP_INSIDE_H

#include "eh.h"

/* A failed allocation of uthash must not end the process. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* What a group knows of one child: a node, or a group of the level below. */
struct group_member {
	bool present;
	struct eh_report own; /* as reported; its threshold is the one it was told */
	uint64_t granted; /* not yet in the load */
	uint32_t nbest;
	uint32_t asked; /* grants for tasks that arrived there */
	struct eh_candidate *best; /* EH_BEST_MAX, where children are groups */
};

/* A placement whose load its executor has not reported yet. */
struct grant {
	uint64_t id, size, deadline;
	unsigned int asker, child;
	uint32_t node; /* the candidate, where children are groups */
	UT_hash_handle hh;
};

struct eh_group {
	struct eh_group_options options;
	uint64_t random; /* state of the generator */
	uint64_t epoch;
	bool calm; /* the finish rule holds, since: */
	uint64_t calm_since;
	struct grant *grants; /* by id, oldest first */
	struct eh_candidate *best; /* of all members */
	unsigned int size; /* 2^n */
	struct group_member members[];
};

static inline uint64_t member_load(const struct group_member *m)
{
	return m->own.load + m->granted;
}

static inline enum eh_state member_state(const struct group_member *m)
{
	return eh_state_dwell(member_load(m), m->own.threshold, m->own.length, m->own.dwell);
}

static inline enum eh_state candidate_state(const struct eh_candidate *c)
{
	return eh_state_dwell(c->load, c->threshold, c->length, c->dwell);
}

#endif
