/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file rule.h
 * The rules of one controller (paper 4): the state of a node, the choice among
 * children, the share of a threshold. For one controller with its children
 * (group.c) and for whole trees (sim/tree.c); inline, because a simulation of a
 * million nodes spends its time in them. Values are thousandths of a task.
 */
#ifndef EH_RULE_H
#define EH_RULE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/** A mean work load: one always runnable task. */
#define EH_TASK 1000u

enum eh_state { EH_RECEIVER, EH_OK, EH_SENDER }; /* values of enum ehs_state */
#define EH_STATES (EH_SENDER + 1)
extern const char *const eh_state_names[EH_STATES];

/** State by L < T-A, L > T+A (section 2 of the paper), without unsigned wrap. */
static inline enum eh_state eh_state(uint64_t load, uint64_t threshold, uint64_t length)
{
	/* Where a difference wraps the comparison beside it is false. No branches: no processor can
	 * guess which state it is. */
	bool receiver = (threshold > length) & (load < threshold - length);
	bool sender = (load > threshold) & (load - threshold > length);

	return EH_OK + sender - receiver;
}

/** With `dwell` it has not been below T-A for long enough: it is ok, not yet a receiver. */
static inline enum eh_state eh_state_dwell(uint64_t load, uint64_t threshold, uint64_t length,
					   bool dwell)
{
	enum eh_state state = eh_state(load, threshold, length);

	return dwell && state == EH_RECEIVER ? EH_OK : state;
}

/** The largest share: what is above it is cut off. */
#define EH_SHARE_MAX ((1ull << 53) / EH_TASK * EH_TASK)

/** T_i = ceil(L*w_i/W) in whole tasks, W > 0: the paper's ceil(L/2^nl) where capacities are equal. */
static inline uint64_t eh_share(uint64_t load, uint64_t capacity, uint64_t total)
{
	unsigned __int128 part = (unsigned __int128)load * capacity, unit, tasks;

	unit = (unsigned __int128)total * EH_TASK;
	if (part <= UINT64_MAX && unit <= UINT64_MAX) /* one machine division */
		tasks = (uint64_t)part / (uint64_t)unit + ((uint64_t)part % (uint64_t)unit != 0);
	else
		tasks = (part + unit - 1) / unit;
	return tasks < EH_SHARE_MAX / EH_TASK ? (uint64_t)tasks * EH_TASK : EH_SHARE_MAX;
}

/** splitmix64 (Steele, Lea, Flood 2014): one word of state, any seed is good. */
static inline uint64_t eh_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/** 0..n-1, n > 0. */
static inline uint32_t eh_random_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((eh_random(state) >> 32) * n >> 32);
}

/**
 * The best of the children that are offered one by one: best state; with
 * `least`, of these the one that will be least loaded for its threshold once it
 * has the task (among idle nodes that is the largest); at random among equals.
 */
struct eh_choice {
	unsigned int child; /**< EH_NO_CHILD: none was offered */
	int state;
	uint64_t load, threshold;
	unsigned int equals;
};
#define EH_NO_CHILD UINT_MAX

static inline void eh_choice_begin(struct eh_choice *choice)
{
	*choice = (struct eh_choice){ .child = EH_NO_CHILD, .state = EH_SENDER + 1 };
}

/** Negative: a is less loaded for its threshold than b; 0: the same. */
static inline int eh_compare_load(uint64_t load_a, uint64_t threshold_a, uint64_t load_b,
				  uint64_t threshold_b)
{
	unsigned __int128 x, y;

	if (threshold_a == threshold_b)
		return load_a < load_b ? -1 : load_a > load_b;
	x = (unsigned __int128)load_a * (threshold_b ? threshold_b : 1);
	y = (unsigned __int128)load_b * (threshold_a ? threshold_a : 1);
	return x < y ? -1 : x > y;
}

/** `load` is that of the child with the task; only those that may take it are offered. */
static inline void eh_choice_offer(struct eh_choice *choice, unsigned int child,
				   enum eh_state state, uint64_t load, uint64_t threshold,
				   bool least, uint64_t *random)
{
	int order = (int)state - choice->state;
	bool take;

	if (least && !order)
		order = eh_compare_load(load, threshold, choice->load, choice->threshold);
	/* Each of k equals ends up chosen with probability 1/k. Moves instead of branches: they
	 * could not be guessed. */
	choice->equals = order < 0 ? 1 : choice->equals + !order;
	take = (order < 0) | (!order & !eh_random_below(random, choice->equals));
	choice->child = take ? child : choice->child;
	choice->state = take ? (int)state : choice->state;
	choice->load = take ? load : choice->load;
	choice->threshold = take ? threshold : choice->threshold;
}

#endif
