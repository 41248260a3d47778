/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cluster of nodes with credits (lib/eh/idle.h) for tests, over a network that loses, doubles and delays
 * messages, while nodes die. No credit may be accepted twice.
 */
#ifndef UNIT_IDLE_WORLD_H
#define UNIT_IDLE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "eh/rule.h"
#include "idle_look.h"
#include "random.h"

#define NODES_MAX 64
#define HEARTBEAT 800
#define LEASE 1500
#define ASKS_MAX 40000

extern struct idle_world {
	struct eh_topology shape;
	unsigned int size, processors, delay, loss, doubled; /* the last two in percent */
	struct idle_node {
		struct eh_idle *idle; /* NULL: dead */
		uint64_t life;
		unsigned int tasks, rank;
		uint32_t parent;
		struct eh_credit accepted[ASKS_MAX / 16]; /* in this life */
		size_t naccepted;
	} nodes[NODES_MAX];
	uint8_t answers[ASKS_MAX]; /* by id of an ask */
	struct eh_credit answer_of[ASKS_MAX];
	bool found[ASKS_MAX];
	uint64_t nasks, now, sent, accepts, declines;
} world;

bool idle_same(const struct eh_credit *a, const struct eh_credit *b);
void idle_step(uint32_t node, struct eh_idle_event event);

/* Of any sender; refused are those that it may not say (test_idle_may.c). */
void idle_hear(uint32_t node, uint32_t from, const struct eh_idle_message *m);
void idle_set_tasks(uint32_t node, unsigned int tasks);

/* Roles as members find them: the lowest living node of a group leads it. */
void idle_set_roles(void);
void idle_start(uint32_t i);
void idle_begin(unsigned int n, unsigned int l, unsigned int c);
void idle_end(void);
void idle_run(uint64_t until);
uint64_t idle_want(uint32_t node, uint32_t hold_ms);

/* A task goes where the answer says. */
void idle_use(uint64_t id);

/* What the controllers of level 1 of these nodes could let be taken, and what there is. */
void idle_check_known(uint32_t from, uint32_t to);
void idle_check_all_known(void);

#endif
