/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file parts.h
 * Tasks in parts, one part per processor, with the cost of each part, and moves between parts.
 *
 * If processors are alike, moving task v from a to b changes only f of a and b: its volumes to a
 * third part are cut before and after. Searches lower a potential,
 *
 *	sum over k of f_k + steep * max(0, f_k - room_k)^2,
 *
 * which is the cut while all parts fit into their room, and also counts the balance of those that
 * do not. Lowering the room then lowers the largest f.
 */
#ifndef PLAN_ASSIGN_PARTS_H
#define PLAN_ASSIGN_PARTS_H

#include "assign.h"

struct assign_heap_entry {
	double gain;
	uint32_t task;
};

struct assign_parts {
	const struct assign_problem *problem;
	const struct assign_machine *machine; /**< the problem's; NULL: processors are alike */
	uint32_t count; /**< of parts, the first of the processors */
	double *weight, mean_weight; /**< of a task on its own: its work and all volume */
	uint32_t *at; /**< of each task; the caller's */
	double *f, *room; /**< of each part */
	double steep;
	/* the task that is looked at: volume to each part in `touched` */
	double *volume;
	uint32_t *touched, ntouched;
	uint64_t looks; /* neighbours looked at so far: the steps that bound a search */
	/* one pass of refinement */
	uint32_t *locked, pass, *list, *trail, *trail_at;
	struct assign_heap_entry *heap;
	uint32_t nheap;
	size_t heap_room;
};

/** NULL: no memory. */
struct assign_parts *assign_parts_new(const struct assign_problem *problem, uint32_t count);
void assign_parts_free(struct assign_parts *parts);
/** Uses this assignment, which stays the caller's, and computes f. */
void assign_parts_set(struct assign_parts *parts, uint32_t *at);
/** Computes f again from `at`. */
void assign_parts_sum(struct assign_parts *parts);
/** The largest f. */
double assign_parts_most(const struct assign_parts *parts);
/** The cost of each part if all cost the same. */
double assign_parts_mean(const struct assign_parts *parts);
/** Sets the room of all parts. */
void assign_parts_limit(struct assign_parts *parts, double room);

/** Looks up the volumes of v by part; good until assign_parts_forget(). */
void assign_parts_look(struct assign_parts *parts, uint32_t v);
void assign_parts_forget(struct assign_parts *parts);
/** How far the potential falls if v, which is looked at, moves to part b. */
double assign_parts_gain(const struct assign_parts *parts, uint32_t v, uint32_t b);
/** Moves v, which is looked at, to part b. */
void assign_parts_move(struct assign_parts *parts, uint32_t v, uint32_t b);

#endif
