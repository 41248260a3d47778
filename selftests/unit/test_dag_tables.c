// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Why the planner keeps busy intervals of links and not paper 3's routing tables: a model of
 * the printed rule (section 3) on a ring of four. After one message between neighbours its tables
 * lead in circles, and its recursion DelayUpdating has no end. Routes of the planner have no loops.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/dag/lanes.h"
#include "plan/dag/machine.h"

#define RING 4
#define DEEP 1000
#define NEXT(i) (((i) + 1) % RING)
#define BACK(i) (((i) + RING - 1) % RING)

struct tables {
	unsigned int hops[RING][RING], relay[RING][RING];
	double delay[RING][RING];
	int lowest; /* of equally good neighbours take the lowest number, or the highest */
};

static unsigned int distance(unsigned int a, unsigned int b)
{
	unsigned int d = (a + RING - b) % RING;

	return d < RING - d ? d : RING - d;
}

static void begin(struct tables *t)
{
	for (unsigned int i = 0; i < RING; i++)
		for (unsigned int j = 0; j < RING; j++) {
			unsigned int a = NEXT(i) < BACK(i) ? NEXT(i) : BACK(i);
			unsigned int b = NEXT(i) + BACK(i) - a, first = t->lowest ? a : b;

			t->hops[i][j] = distance(i, j);
			t->delay[i][j] = 0;
			t->relay[i][j] =
				distance(first, j) < distance(i, j) ? first : a + b - first;
		}
}

/* DelayUpdating(j1, j2): the delay, or -1 when it has no end. */
static double update_delay(struct tables *t, unsigned int from, unsigned int to, double time,
			   int depth)
{
	unsigned int relay = t->relay[from][to];
	double first, second;

	if (depth > DEEP)
		return -1;
	if (relay == to)
		return t->delay[from][to] += time;
	first = update_delay(t, from, relay, time, depth + 1);
	second = first < 0 ? -1 : update_delay(t, relay, to, time, depth + 1);
	return second < 0 ? -1 : (t->delay[from][to] = first + second);
}

/* (2.1), (2.2): the neighbour with the least delay to it and onwards from it. */
static void choose_relays(struct tables *t, unsigned int at)
{
	unsigned int a = NEXT(at) < BACK(at) ? NEXT(at) : BACK(at), b = NEXT(at) + BACK(at) - a;

	for (unsigned int j = 0; j < RING; j++) {
		double by_a = t->delay[at][a] + t->delay[a][j];
		double by_b = t->delay[at][b] + t->delay[b][j];
		unsigned int best = by_a < by_b || (by_a == by_b && t->lowest) ? a : b;

		if (j == at)
			continue;
		t->hops[at][j] = 1 + t->hops[best][j];
		t->delay[at][j] = t->delay[at][best] + t->delay[best][j];
		t->relay[at][j] = best;
	}
}

/* The tables of all others, breadth first from the sender's other neighbour. */
static void update_others(struct tables *t, unsigned int from, unsigned int to)
{
	unsigned int queue[64], read = 0, written = 0, done = 1u << from;

	queue[written++] = t->relay[from][to] == NEXT(from) ? BACK(from) : NEXT(from);
	for (; read < written; read++) {
		unsigned int at = queue[read];

		if (done & 1u << at)
			continue;
		done |= 1u << at;
		choose_relays(t, at);
		queue[written++] = NEXT(at);
		queue[written++] = BACK(at);
	}
}

static unsigned int count_loops(const struct tables *t)
{
	unsigned int loops = 0;

	for (unsigned int i = 0; i < RING; i++)
		for (unsigned int j = 0; j < RING; j++) {
			unsigned int at = i, steps = 0;

			for (; at != j && steps < RING; steps++)
				at = t->relay[at][j];
			loops += at != j;
		}
	return loops;
}

static void test_printed_rule(void **state)
{
	for (int lowest = 0; lowest < 2; lowest++) {
		struct tables t = { .lowest = lowest };
		unsigned int endless = 0;

		begin(&t);
		assert_int_equal(count_loops(&t), 0);
		assert_true(update_delay(&t, 0, 1, 1, 0) == 1);
		update_others(&t, 0, 1);
		assert_true(count_loops(&t) > 0);
		for (unsigned int i = 0; i < RING; i++)
			for (unsigned int j = 0; j < RING; j++)
				endless += i != j && update_delay(&t, i, j, 1, 0) < 0;
		assert_true(endless > 0);
	}
}

/* The same ring with the planner's state: any number of messages, and each arrives. */
static void test_busy_intervals(void **state)
{
	struct plan_refusal refusal = { 0 };
	struct dag_machine *machine;
	struct dag_problem *problem;
	struct dag_graph *graph;
	struct dag_draft draft;
	struct dag_lanes *lanes;
	struct dag_messages messages = { 0 };
	uint32_t order[40], processor[40];
	double finish[40];
	char name[8];

	assert_int_equal(dag_draft_begin(&draft), 0);
	for (uint32_t i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "%u", i);
		assert_true(dag_draft_task(&draft, name, i % 3) >= 0);
		order[i] = i;
		processor[i] = i % RING;
		for (uint32_t k = 1; k < RING && k <= i; k++)
			assert_int_equal(dag_draft_edge(&draft, i - k, i, 5, 0), 0);
	}
	assert_int_equal(dag_graph_make(&draft, &graph, &refusal), 0);
	dag_draft_end(&draft);
	assert_int_equal(dag_machine_topology("ring", RING, 1, 0, &machine, &refusal), 0);
	assert_int_equal(dag_problem_make(graph, machine, true, &problem, &refusal), 0);
	assert_int_equal(dag_lanes_make(problem, &lanes), 0);
	assert_true(dag_lanes_decode(lanes, order, processor, true, NULL, 1e9, finish, &messages) >
		    0);
	assert_int_equal(messages.count, 3 * 40 - 6);
	for (size_t i = 0; i < messages.count; i++) {
		const struct dag_message *m = &messages.list[i];
		unsigned int seen = 1u << processor[m->from];

		assert_true(m->hops < RING);
		for (uint32_t h = 0; h < m->hops; h++) {
			unsigned int bit = 1u << messages.hops[m->hop + h].node;

			assert_false(seen & bit);
			seen |= bit;
		}
		assert_true(seen & 1u << processor[m->to]);
	}
	dag_messages_end(&messages);
	dag_lanes_free(lanes);
	dag_problem_free(problem);
	dag_machine_free(machine);
	dag_graph_free(graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_printed_rule),
		cmocka_unit_test(test_busy_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
