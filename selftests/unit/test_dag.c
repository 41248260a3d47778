// SPDX-License-Identifier: GPL-2.0-or-later
/* The dag planner: routes, bounds, plans, replays, and the checker on plans that are wrong. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "eh/topology.h"
#include "plan/dag/bound.h"
#include "plan/dag/check.h"
#include "plan/dag/follow.h"
#include "plan/dag/list.h"
#include "plan/dag/order.h"
#include "plan/dag/problem.h"
#include "plan/dag/replay.h"
#include "plan/dag/solve.h"
#include "random.h"

/* A random task graph on a random machine. */
struct dag_case {
	struct dag_graph *graph;
	struct dag_machine *machine;
	struct dag_problem *problem;
};

static void dag_case_end(struct dag_case *c)
{
	dag_problem_free(c->problem);
	dag_machine_free(c->machine);
	dag_graph_free(c->graph);
}

/* Work 0..20, up to three of the last eight before each, data 0..data-1; 0 or -ENOMEM. */
static int dag_case_make(struct dag_case *c, uint32_t tasks, const char *topology,
			 uint32_t processors, uint32_t data, bool contention)
{
	struct plan_refusal refusal = { 0 };
	struct dag_draft draft;
	char name[16];
	int err = dag_draft_begin(&draft);

	*c = (struct dag_case){ 0 };
	for (uint32_t i = 0; i < tasks && !err; i++) {
		snprintf(name, sizeof(name), "t%u", i);
		err = dag_draft_task(&draft, name, random_below(21)) < 0 ? -1 : 0;
		for (uint32_t k = random_below(4); k && i && !err; k--)
			err = dag_draft_edge(&draft, i - 1 - random_below(i < 8 ? i : 8), i,
					     random_below(data), 0);
	}
	if (!err)
		dag_draft_unite(&draft);
	if (!err)
		err = dag_graph_make(&draft, &c->graph, &refusal);
	dag_draft_end(&draft);
	if (!err)
		err = dag_machine_topology(topology, processors, 2, 1, &c->machine, &refusal);
	if (!err)
		err = dag_problem_make(c->graph, c->machine, contention, &c->problem, &refusal);
	return err;
}

static const struct {
	const char *topology;
	uint32_t processors;
} machines[] = {
	{ "full", 4 },	  { "ring", 6 }, { "hypercube", 8 }, { "mesh:2x3", 6 },
	{ "eh:2,2", 16 }, { "full", 1 }, { "ring", 2 },
};
#define MACHINES (sizeof(machines) / sizeof(machines[0]))

/* As long as the paper's routes in EH(n,l), and never past a controller above the common cube. */
static void test_hierarchy_routes(void **state)
{
	struct plan_refusal refusal = { 0 };
	struct eh_topology t = { 2, 3 };
	struct eh_code path[EH_PATH_MAX];
	struct dag_machine *m;
	uint32_t way[128];
	char text[EH_CODE_TEXT];

	assert_int_equal(dag_machine_topology("eh:2,3", 0, 1, 0, &m, &refusal), 0);
	assert_int_equal(m->processors, 64);
	assert_int_equal(m->nodes, 64 + 16 + 4 + 1);
	assert_int_equal(dag_machine_route(m, 1, 1, 1, &refusal), 0);
	for (uint32_t a = 0; a < 64; a++)
		for (uint32_t b = 0; b < 64; b++) {
			int codes = eh_path(&t, (struct eh_code){ 0, a }, (struct eh_code){ 0, b },
					    1, path);
			uint32_t hops = dag_machine_way(m, a, b, 1, way);
			unsigned int highest = 0;

			assert_int_equal(hops, codes - 1);
			assert_true(dag_machine_transfer(m, a, b, 7) == 7.0 * hops);
			for (int i = 0; i < codes; i++)
				highest = path[i].level > highest ? path[i].level : highest;
			for (uint32_t i = 0; i < hops; i++) {
				const char *name = plan_names_text(m->names, way[i]);
				struct eh_code code;

				assert_int_equal(eh_code_parse(&t, name, &code), 0);
				assert_string_equal(eh_code_format(&t, code, text), name);
				assert_true(code.level <= highest);
			}
		}
	dag_machine_free(m);
}

static void assert_same_messages(const struct dag_messages *a, const struct dag_messages *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->nhops, b->nhops);
	for (size_t i = 0; i < a->nhops; i++) {
		assert_int_equal(a->hops[i].node, b->hops[i].node);
		assert_true(a->hops[i].start == b->hops[i].start);
		assert_true(a->hops[i].finish == b->hops[i].finish);
	}
}

static void test_plans(void **state)
{
	size_t messages = 0;

	random_begin();
	for (unsigned int round = 0; round < 120; round++) {
		unsigned int machine = round % MACHINES, data = 1 + random_below(60);
		bool contention = round / MACHINES % 2;
		struct plan_refusal refusal = { 0 };
		struct dag_case c;

		assert_int_equal(dag_case_make(&c, 1 + random_below(40), machines[machine].topology,
					       machines[machine].processors, data, contention),
				 0);
		for (int method = DAG_BEST; method <= DAG_HEFT; method++) {
			struct dag_options how = { .method = method, .seed = round, .steps = 300 };
			struct dag_plan plan, again;
			double alone;
			int err;

			assert_int_equal(dag_solve(c.problem, &how, NULL, &plan), 0);
			err = dag_check(c.problem, &plan.schedule, &plan.messages, &refusal);
			if (err)
				print_message("%s: %s\n", machines[machine].topology, refusal.what);
			assert_int_equal(err, 0);
			dag_problem_fastest(c.problem, &alone);
			assert_true(plan.schedule.makespan <= alone);
			assert_true(plan.lower_bound <= plan.schedule.makespan);
			assert_int_equal(dag_solve(c.problem, &how, NULL, &again), 0);
			assert_memory_equal(again.schedule.start, plan.schedule.start,
					    c.graph->tasks * sizeof(double));
			/* the same order gives the same plan */
			if (contention) {
				assert_int_equal(
					dag_replay(c.problem, &again.schedule, &again.messages), 0);
				assert_memory_equal(again.schedule.start, plan.schedule.start,
						    c.graph->tasks * sizeof(double));
				assert_same_messages(&again.messages, &plan.messages);
				messages += plan.messages.count;
			}
			dag_plan_end(&plan);
			dag_plan_end(&again);
		}
		dag_case_end(&c);
	}
	assert_true(messages > 1000);
}

/* The plan of a list without messages; each task comes after its predecessors. */
static double follow(const struct dag_problem *p, const uint32_t *order, double *finish)
{
	const struct dag_graph *g = p->graph;
	double ready[4] = { 0 }, makespan = 0;

	for (uint32_t t = 0; t < p->tasks; t++)
		finish[t] = -1;
	for (uint32_t i = 0; i < p->tasks; i++) {
		uint32_t t = order[i], j;
		double start = 0;

		for (uint32_t a = g->in_at[t]; a < g->in_at[t + 1]; a++) {
			assert_true(finish[g->in[a].task] >= 0);
			start = fmax(start, finish[g->in[a].task]);
		}
		j = dag_follow(ready, 4, &start);
		assert_true(ready[j] <= start);
		finish[t] = ready[j] = start + p->least[t];
		makespan = fmax(makespan, finish[t]);
	}
	return makespan;
}

static void test_justification(void **state)
{
	double finish[100], first, second;
	unsigned int shorter = 0;
	uint32_t order[100];

	random_begin();
	for (unsigned int round = 0; round < 200; round++) {
		struct dag_justify *j;
		struct dag_case c;

		assert_int_equal(dag_case_make(&c, 1 + random_below(100), "full", 4, 1, false), 0);
		assert_int_equal(dag_justify_make(c.problem, 4, &j), 0);
		for (uint32_t i = 0; i < c.graph->tasks; i++)
			order[i] = i;
		first = follow(c.problem, order, finish);
		for (int again = 0; again < 3; again++) {
			dag_justify(j, order, finish);
			second = follow(c.problem, order, finish);
			assert_true(second <= first);
			shorter += second < first;
			first = second;
		}
		dag_justify_free(j);
		dag_case_end(&c);
	}
	assert_true(shorter > 50);
}

/* Breaks a valid plan in one way, which *what names. False: this plan cannot be broken so. */
static bool spoil(struct dag_plan *plan, const struct dag_problem *p, unsigned int kind)
{
	uint32_t t = random_below(p->tasks);
	struct dag_message *m = plan->messages.count
					? &plan->messages.list[random_below(plan->messages.count)]
					: NULL;
	struct dag_hop *hop = m ? &plan->messages.hops[m->hop] : NULL;
	double step = 0.01 * plan->schedule.makespan;

	switch (kind) {
	case 0:
		plan->schedule.finish[t] += step;
		return true;
	case 1:
		plan->schedule.processor[t] = p->processors;
		return true;
	case 2:
		plan->schedule.makespan -= step;
		return true;
	case 3:
		plan->schedule.start[t] = NAN;
		return true;
	case 4: /* all at once on one processor */
		if (p->least[0] <= 0 || p->least[1] <= 0 || p->graph->edges)
			return false;
		for (uint32_t i = 0; i < p->tasks; i++) {
			plan->schedule.processor[i] = 0;
			plan->schedule.start[i] = 0;
			plan->schedule.finish[i] = p->least[i];
		}
		dag_schedule_measure(&plan->schedule);
		return true;
	case 5: /* the data leave before they are there */
		if (!m)
			return false;
		hop->start = plan->schedule.finish[m->from] - step;
		hop->finish += hop->start - plan->schedule.finish[m->from];
		return true;
	case 6: /* and come late */
		if (!m)
			return false;
		plan->messages.hops[m->hop + m->hops - 1].finish += step;
		return true;
	case 7: /* one is lost */
		if (!m)
			return false;
		*m = plan->messages.list[--plan->messages.count];
		return true;
	case 8: /* or sent twice */
		return m && !dag_messages_add(&plan->messages, m->from, m->to);
	case 9: /* a route that does not exist */
		if (!m)
			return false;
		hop->node = p->machine->nodes;
		return true;
	default: /* nowhere */
		if (!m)
			return false;
		m->hops--;
		return true;
	}
}

static void test_checker(void **state)
{
	unsigned int found[11] = { 0 };

	random_begin();
	for (unsigned int round = 0; round < 660; round++) {
		unsigned int machine = random_below(MACHINES), kind = round % 11;
		struct dag_options how = { .method = DAG_HEFT };
		struct plan_refusal refusal = { 0 };
		struct dag_plan plan;
		struct dag_case c;

		assert_int_equal(dag_case_make(&c, kind == 4 ? 2 + random_below(2) : 20,
					       machines[machine].topology,
					       machines[machine].processors, 3, round & 1),
				 0);
		assert_int_equal(dag_solve(c.problem, &how, NULL, &plan), 0);
		assert_int_equal(dag_check(c.problem, &plan.schedule, &plan.messages, &refusal), 0);
		if (plan.schedule.makespan > 0 && spoil(&plan, c.problem, kind)) {
			assert_int_equal(
				dag_check(c.problem, &plan.schedule, &plan.messages, &refusal),
				-EINVAL);
			assert_true(refusal.what[0]);
			found[kind]++;
		}
		dag_plan_end(&plan);
		dag_case_end(&c);
	}
	for (unsigned int kind = 0; kind < 11; kind++)
		assert_true(found[kind] > 0);
}

/* Of up to so many tasks, on each of the machines in turn. */
static void make_case(unsigned int round, uint32_t most, struct dag_case *c, struct dag_bound *b,
		      struct dag_schedule *s)
{
	unsigned int machine = round % MACHINES;

	assert_int_equal(dag_case_make(c, 1 + random_below(most), machines[machine].topology,
				       machines[machine].processors, 1 + random_below(60), false),
			 0);
	assert_int_equal(dag_bound_make(c->problem, b), 0);
	assert_int_equal(dag_schedule_make(c->problem, s), 0);
}

/* No list of any priority beats the bound, and heads and tails hold in each. */
static void test_bounds(void **state)
{
	random_begin();
	for (unsigned int round = 0; round < 100; round++) {
		uint32_t order[40];
		double priority[40];
		struct dag_schedule s;
		struct dag_bound b;
		struct dag_case c;

		make_case(round, 40, &c, &b, &s);
		for (int i = 0; i < DAG_PRIORITIES; i++) {
			dag_priorities(c.problem, &b, i, priority);
			assert_int_equal(dag_order(c.problem, priority, order), 0);
			assert_int_equal(dag_list(c.problem, order, NULL, NULL, &s), 0);
			assert_true(s.makespan >= b.length);
			for (uint32_t t = 0; t < c.graph->tasks; t++) {
				assert_true(s.start[t] >= b.head[t] - 1e-9);
				assert_true(s.makespan - s.finish[t] >= b.tail[t] - 1e-9);
			}
		}
		dag_schedule_end(&s);
		dag_bound_end(&b);
		dag_case_end(&c);
	}
}

/* The first start of a task on a processor, in any idle time that the tasks before it in the list
 * leave. */
static double first_start(const struct dag_problem *p, const struct dag_schedule *s,
			  const uint32_t *order, uint32_t at, uint32_t processor)
{
	uint32_t task = order[at];
	double start = 0;
	bool moved = true;

	for (uint32_t i = p->graph->in_at[task]; i < p->graph->in_at[task + 1]; i++) {
		const struct dag_arc *a = &p->graph->in[i];

		start = fmax(start, s->finish[a->task] + dag_message_time(p, a->data,
									  s->processor[a->task],
									  processor));
	}
	while (moved) {
		moved = false;
		for (uint32_t k = 0; k < at; k++) {
			uint32_t other = order[k];

			if (s->processor[other] == processor && s->finish[other] > start &&
			    s->start[other] < start + p->least[task]) {
				start = s->finish[other];
				moved = true;
			}
		}
	}
	return start;
}

/* A list tries few processors, but no other one would end a task sooner. */
static void test_list_places(void **state)
{
	random_begin();
	for (unsigned int round = 0; round < 150; round++) {
		uint32_t order[60];
		double priority[60];
		struct dag_schedule s;
		struct dag_bound b;
		struct dag_case c;

		make_case(round, 60, &c, &b, &s);
		dag_priorities(c.problem, &b, DAG_B_LEVEL, priority);
		assert_int_equal(dag_order(c.problem, priority, order), 0);
		assert_int_equal(dag_list(c.problem, order, NULL, NULL, &s), 0);
		for (uint32_t i = 0; i < c.graph->tasks; i++)
			/* one without work could also be between two that touch */
			for (uint32_t j = 0;
			     j < c.problem->processors && c.problem->least[order[i]] > 0; j++)
				assert_true(s.start[order[i]] <=
					    first_start(c.problem, &s, order, i, j) + 1e-9);
		dag_schedule_end(&s);
		dag_bound_end(&b);
		dag_case_end(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hierarchy_routes), cmocka_unit_test(test_plans),
		cmocka_unit_test(test_justification),	 cmocka_unit_test(test_checker),
		cmocka_unit_test(test_bounds),		 cmocka_unit_test(test_list_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
