/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file tree_inside.h  Inside of struct eh_tree; for lib/eh only. */
#ifndef EH_TREE_INSIDE_H
#define EH_TREE_INSIDE_H

#include "tree.h"

/* A report on its way up. */
struct late {
	uint64_t due;
	int64_t delta;
	uint32_t leaf;
};

/*
 * Structure of arrays, level after level from the leaves (the members) up, so
 * that the 2^n children of a controller are side by side. Arrays of options not
 * taken are absent or the same array under two names: the code need not ask.
 */
struct eh_tree {
	struct eh_tree_options options;
	unsigned int n, l;
	uint32_t leaves, nodes; /* leaves are 0..leaves-1, the top is nodes-1 */
	uint32_t offset[EH_LEVELS_MAX + 1];
	bool two_state; /* no length: ETA1, ETA2 */
	bool uniform; /* all members have the capacity `unit` and shares rounded the same way */
	uint32_t unit;
	uint32_t lower; /* EH_HINT: by which shares are rounded lower then, */
	uint32_t members, controllers; /* present ones */
	uint64_t total; /* load that runs */
	uint64_t random, now;
	uint32_t epoch;
	struct eh_tree_counts counts;
	size_t bytes;

	uint64_t *load; /* as the parent knows it; nodes */
	uint64_t *own; /* as it is; leaves. Without lag: load */
	uint64_t *threshold; /* in force at the node; nodes */
	uint64_t *believed; /* in the parent's tree; nodes. Broadcast: threshold */
	uint32_t *leaf_length, *leaf_capacity; /* capacity 0: absent */
	uint64_t *sum_length,
		*sum_capacity; /* of controllers, from node `leaves` on, as all below */

	/* lazy: the total load and capacity that a controller's thresholds are shares of */
	uint64_t *basis_load, *basis_capacity;
	uint32_t *basis_epoch;

	/* EH_HINT */
	uint32_t *least; /* lowest key of a member below */
	uint32_t *least_node; /* that member; EH_NO_CHILD: none */
	uint32_t *hint_key; /* of the least loaded elsewhere, as told from above, */
	uint32_t *hint_to; /* that member; nothing at the top */

	uint32_t *offer; /* bidirectional: who will take a task; leaves */

	struct late *late; /* lag: a ring of 2^k, oldest first */
	size_t late_size, late_first, late_count;
};

static inline uint32_t tree_ancestor(const struct eh_tree *t, uint32_t leaf, unsigned int level)
{
	return t->offset[level] + (leaf >> t->n * level);
}

static inline uint32_t tree_top(const struct eh_tree *t)
{
	return t->nodes - 1;
}

/* First child of the controller v of this level. */
static inline uint32_t tree_first(const struct eh_tree *t, uint32_t v, unsigned int level)
{
	return t->offset[level - 1] + ((v - t->offset[level]) << t->n);
}

static inline uint64_t tree_capacity(const struct eh_tree *t, uint32_t v)
{
	return v < t->leaves ? t->leaf_capacity[v] : t->sum_capacity[v - t->leaves];
}

static inline uint64_t tree_length(const struct eh_tree *t, uint32_t v)
{
	return v < t->leaves ? t->leaf_length[v] : t->sum_length[v - t->leaves];
}

/*
 * By how much a threshold of EH_HINT is lower than the paper's, which is rounded
 * up: with a length of a task theorem 4.1 holds for one that is rounded down too.
 */
static inline uint32_t tree_lower(const struct eh_tree *t, uint64_t length)
{
	return t->options.policy == EH_HINT && length >= EH_TASK ? EH_TASK : 0;
}

static inline enum eh_state tree_judge(const struct eh_tree *t, uint64_t load, uint64_t threshold,
				       uint64_t length)
{
	if (t->two_state)
		return load < threshold ? EH_RECEIVER : EH_SENDER;
	return eh_state(load, threshold, length);
}

/* As the node judges itself; a leaf knows its load, whatever its parent believes. */
static inline enum eh_state tree_state(const struct eh_tree *t, uint32_t v)
{
	if (v < t->leaves)
		return tree_judge(t, t->own[v], t->threshold[v], t->leaf_length[v]);
	return tree_judge(t, t->load[v], t->threshold[v], t->sum_length[v - t->leaves]);
}

/* As its parent sees it. */
static inline enum eh_state tree_seen(const struct eh_tree *t, uint32_t v)
{
	return tree_judge(t, t->load[v], t->believed[v], tree_length(t, v));
}

/* ---- tree.c ---- */

/* The paper's UpModify: a leaf's load moved by delta, and all ancestors know it from now. */
void tree_up_modify(struct eh_tree *t, uint32_t leaf, int64_t delta);

/* ---- tree_threshold.c ---- */

/* Sums of the leaves' thresholds and views, from the bottom: for a new tree. */
void tree_threshold_sums(struct eh_tree *t);
/* A leaf's part in the thresholds of its ancestors, as their bases have it: added, or taken away. */
void tree_threshold_count(struct eh_tree *t, uint32_t leaf, bool add);
/* The threshold of a leaf by what the controller v has heard. */
uint64_t tree_threshold_told(const struct eh_tree *t, uint32_t v, uint32_t leaf);
/* ThresholdModify of the paper. */
void tree_threshold_modify(struct eh_tree *t);
/* The paper's rule on finish; true: thresholds have changed. */
bool tree_threshold_relax(struct eh_tree *t);
/* EH_HINT: a top that has heard that it is a sender does not wait until it is asked. */
bool tree_threshold_raise(struct eh_tree *t);
/* A message comes down from the ancestor of this level to the leaf, with the newer threshold. */
void tree_threshold_ride(struct eh_tree *t, unsigned int level, uint32_t leaf);
/* The same from a controller v elsewhere, with a task for the leaf: its reports take it up until
 * somebody has it. */
void tree_threshold_carry(struct eh_tree *t, uint32_t v, uint32_t leaf);
/* The same over the one edge from v to its child c of level `level`. */
void tree_threshold_pass(struct eh_tree *t, uint32_t v, uint32_t c, unsigned int level);

/* ---- hint.c ---- */

/* `least` of all ancestors, after the leaf's load or membership changed. */
void tree_hint_least(struct eh_tree *t, uint32_t leaf);
/* Answers to the report that has gone up from the leaf. */
void tree_hint_answer(struct eh_tree *t, uint32_t leaf);
/* All controllers are told, with a broadcast. */
void tree_hint_all(struct eh_tree *t);
/* The member that home's ancestor of this level would send a task to; EH_NO_CHILD: by all it
 * knows each is a sender. */
uint32_t tree_hint_node(const struct eh_tree *t, uint32_t home, unsigned int level);
/* It has sent a task of this size there. */
void tree_hint_used(struct eh_tree *t, uint32_t home, unsigned int level, uint32_t to,
		    uint64_t size);

/* ---- lag.c ---- */

/* Room for one more report, so that nothing fails later, if there is lag at all. 0 or -ENOMEM. */
int tree_lag_reserve(struct eh_tree *t);
void tree_lag_add(struct eh_tree *t, uint32_t leaf, int64_t delta);
/* Reports that have been long enough on their way arrive. */
void tree_lag_deliver(struct eh_tree *t);
/* Those of a leaf that is gone do not. */
void tree_lag_forget(struct eh_tree *t, uint32_t leaf);

/* ---- policy.c ---- */

void tree_arrive(struct eh_tree *t, const struct eh_tree_event *event, struct eh_tree_update *up);
void tree_finish(struct eh_tree *t, const struct eh_tree_event *event, struct eh_tree_update *up);

#endif
