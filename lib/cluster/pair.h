/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file pair.h
 * `ehctl doctor --pairs`: what one node has found of another, and what is wrong with that. The node that tests says
 * facts only (POST /v1/pairs); the one that asked makes sentences of them. Pure.
 */
#ifndef CLUSTER_PAIR_H
#define CLUSTER_PAIR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct eh_topology;

#define PAIR_ALL 32 /**< nodes of which each pair is tested */

/**
 * Whether the pair of nodes[i] and nodes[j] is tested: of up to PAIR_ALL nodes each; of more those within a
 * group of level 1, and those of controllers that report to one controller, where each is the lowest of its
 * group. `nodes`: their numbers, in order.
 */
bool pair_is_tested(const struct eh_topology *t, const uint32_t *nodes, size_t n, size_t i,
		    size_t j);

/**
 * What the other side's clock, at `theirs`, is ahead of ours if the question left at `sent` and the answer was
 * here at `back`: as if it had been there half-way. It may be wrong by *within. All ms.
 */
int64_t pair_skew(int64_t sent, int64_t back, int64_t theirs, int64_t *within);

/** The node that tests, and the one that is tested. */
struct pair_names {
	const char *from, *to; /**< hosts */
	const char *address; /**< of `to`, with its port */
};

/**
 * What is wrong, the worst first: checks as those of `ehctl doctor`. `facts` may come from a liar: what is of
 * another type is absent. NULL: no memory.
 */
json_t *pair_judge(const json_t *facts, const struct pair_names *names);

#endif
