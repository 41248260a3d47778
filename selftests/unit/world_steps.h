/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A world of members for tests: one that is like the agents', and what must hold of it at rest. */
#ifndef UNIT_WORLD_STEPS_H
#define UNIT_WORLD_STEPS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/world_inside.h"

#define HEARTBEAT 1000
#define NODES_MAX 64
/* Three heartbeats to notice, the search, and the claims that heal. */
#define SETTLE (16 * HEARTBEAT)

extern uint8_t world_sides[NODES_MAX]; /* of a network that is cut */
extern bool world_is_whole;
extern uint64_t world_seed;

struct eh_world *world_new(unsigned int n, unsigned int l, uint64_t delay, double loss, bool lazy,
			   eh_world_watch_fn watch);

/* A living node's own values become these. */
void world_own(struct eh_world *w, uint32_t node, const struct eh_report *own);

/* The lowest living node of a node's group of this level, on its side. */
uint32_t world_lowest(const struct eh_world *w, unsigned int n, uint32_t node, unsigned int level);

/* And its threshold is its share by that rule, where nobody has changed it or the capacity since. */
void world_check_thresholds(const struct eh_world *w, unsigned int bits);

/* One controller a group, the lowest; parents are theirs; sums are the nodes' own; one rule. */
void world_check(const struct eh_world *w, unsigned int n, unsigned int l, bool exact);
void world_run(struct eh_world *w, uint64_t ms);
void world_start_all(struct eh_world *w, unsigned int bits);

#endif
