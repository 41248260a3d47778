/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file group.h  Inside of struct eh_group; for lib/eh only. */
#ifndef EH_GROUP_H
#define EH_GROUP_H

#include "eh.h"

/* Of uthash only the failing allocation interests: it must not end the process. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct member {
	bool present, draining, dwell;
	uint64_t reported, granted; /* its load is their sum */
	uint64_t threshold, length, floor, capacity;
	uint32_t nodes;
	uint32_t nbest;
	struct eh_candidate *best; /* EH_BEST_MAX, where children are groups */
};

/* A placement whose load its executor has not reported yet. */
struct grant {
	uint64_t id, size, deadline;
	unsigned int child;
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
	struct member members[];
};

static inline uint64_t member_load(const struct member *m)
{
	return m->reported + m->granted;
}

static inline enum eh_state member_state(const struct member *m)
{
	return eh_state_dwell(member_load(m), m->threshold, m->length, m->dwell);
}

static inline enum eh_state candidate_state(const struct eh_candidate *c)
{
	return eh_state_dwell(c->load, c->threshold, c->length, c->dwell);
}

/* ---- grant.c ---- */

/* Memory for one grant, so that nothing else can fail later; NULL: none. */
struct grant *eh_grant_reserve(struct eh_group *group, uint64_t id, uint64_t size, uint64_t now);
/* Its size is counted on the child from now. */
void eh_grant_to(struct eh_group *group, struct grant *grant, unsigned int child);
void eh_grant_drop(struct eh_group *group, struct grant *grant);
/* Drops the grant of `id` if it is to `child`. */
void eh_grant_settle(struct eh_group *group, uint64_t id, unsigned int child);
void eh_grant_expire(struct eh_group *group, uint64_t now);
void eh_grant_forget(struct eh_group *group, unsigned int child);
/* Candidates that were just reported get what was granted to them meanwhile. */
void eh_grant_recount(struct eh_group *group, unsigned int child);

/* ---- threshold.c ---- */

/* All thresholds by this rule. */
void eh_threshold_apply(struct eh_group *group, const struct eh_rule *rule, eh_emit_fn emit,
			void *ctx);
/* ThresholdModify of the paper. */
void eh_threshold_modify(struct eh_group *group, eh_emit_fn emit, void *ctx);
/* The paper's rule on finish: follows a load that has fallen and stayed low. */
void eh_threshold_relax(struct eh_group *group, uint64_t now, eh_emit_fn emit, void *ctx);

/* ---- decide.c ---- */

int eh_decide(struct eh_group *group, const struct eh_event *event, uint64_t now, eh_emit_fn emit,
	      void *ctx);

#endif
