// SPDX-License-Identifier: GPL-2.0-or-later
/* Response times of lib/sim/load.h against closed formulas of queueing theory, and what holds for any policy. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "sim/load_run.h"
#include "random.h"

#define RUNS 24
#define FAR 6 /* standard errors: 24 runs are further off once in 250,000 times */
#define BIAS 0.004 /* runs begin and end with empty nodes, and are finite */

static struct eh_load_options options_of(enum eh_load_policy policy, double load)
{
	return (struct eh_load_options){ .topology = { 2, 1 },
					 .policy = policy,
					 .load = load,
					 .processors = 1,
					 .length = 1000,
					 .tasks = 60000 };
}

static struct eh_load_result run_of(const struct eh_load_options *options)
{
	struct eh_load_result r;

	assert_int_equal(eh_load_run(options, NULL, NULL, &r), 0);
	assert_int_equal(r.arrivals, options->tasks);
	assert_int_equal(r.measured, options->tasks - options->tasks / 10);
	return r;
}

/* The mean over runs is that of the formula, as far as their deviation can tell. */
static void compare(const char *what, struct eh_load_options options, double formula)
{
	double sum = 0, squares = 0, mean, error;

	for (unsigned int i = 0; i < RUNS; i++) {
		double one;

		options.seed = random_64();
		one = run_of(&options).response.mean;
		sum += one;
		squares += one * one;
	}
	mean = sum / RUNS;
	error = sqrt((squares - sum * mean) / (RUNS - 1) / RUNS);
	printf("# %s: %.4f, standard error %.4f, formula %.4f\n", what, mean, error, formula);
	assert_true(error < 0.05 * formula);
	assert_true(fabs(mean - formula) <= FAR * error + BIAS * formula);
}

/* M/M/1: 1 / (1 - rho), shared or in turn. */
static void test_one_processor(void **state)
{
	struct eh_load_options o = options_of(EH_LOAD_LOCAL, 0.7);

	compare("M/M/1, shared", o, 1 / 0.3);
	o.queue = true;
	compare("M/M/1, in turn", o, 1 / 0.3);
}

/* M/M/c by Erlang's formula: W = 1 + C / (c (1 - rho)). */
static double erlang(unsigned int c, double rho)
{
	double a = c * rho, term = 1, sum = 0, wait;

	for (unsigned int k = 0; k < c; k++) {
		sum += term;
		term *= a / (k + 1);
	}
	wait = term / (1 - rho);
	return 1 + wait / (sum + wait) / (c * (1 - rho));
}

static void test_one_queue(void **state)
{
	struct eh_load_options o = options_of(EH_LOAD_SHARED, 0.8);

	compare("M/M/4, one queue", o, erlang(4, 0.8));
	o.processors = 2;
	o.load = 0.9;
	compare("M/M/8, one queue", o, erlang(8, 0.9));
	/* one node with c processors is an M/M/c by itself */
	o = options_of(EH_LOAD_LOCAL, 0.8);
	o.processors = 3;
	compare("M/M/3, shared", o, erlang(3, 0.8));
	o.queue = true;
	compare("M/M/3, in turn", o, erlang(3, 0.8));
	/* idle processors of all nodes, and none waits elsewhere: the same queue */
	o = options_of(EH_LOAD_IDLE, 0.5);
	o.topology = (struct eh_topology){ 3, 1 };
	o.hold = 1e6;
	o.processors = 8;
	compare("M/M/64, held until one is free", o, erlang(64, 0.5));
}

/* M/G/1 in turn: 1 + rho (1 + C^2) / (2 (1 - rho)) (Pollaczek, Khinchine); shared: 1 / (1 - rho). */
static void test_service(void **state)
{
	static const double trace[] = { 1, 3 }; /* mean 2, variance 1 */
	struct eh_load_options o = options_of(EH_LOAD_LOCAL, 0.6);

	o.queue = true;
	o.service = EH_LOAD_CONSTANT;
	compare("M/D/1", o, 1 + 0.6 / (2 * 0.4));
	o.service = EH_LOAD_HYPER;
	compare("M/H2/1", o, 1 + 0.6 * 11 / (2 * 0.4));
	o.service = EH_LOAD_TRACE;
	o.trace = trace;
	o.ntrace = 2;
	compare("M/G/1 of a trace", o, 1 + 0.6 * 1.25 / (2 * 0.4));
	o.queue = false;
	o.service = EH_LOAD_HYPER;
	compare("M/H2/1, shared", o, 1 / 0.4);
	o.service = EH_LOAD_CONSTANT;
	compare("M/D/1, shared", o, 1 / 0.4);
}

/* A processor twice as fast: each node is an M/M/1 of its own load. */
static void test_speeds(void **state)
{
	static const double speeds[] = { 1, 3 };
	struct eh_load_options o = options_of(EH_LOAD_LOCAL, 0.4);

	o.speeds = speeds;
	o.nspeeds = 2;
	/* 0.8 tasks arrive at each: 1 / (1 - 0.8) and 1 / (3 - 0.8) */
	compare("speeds 1 and 3", o, (1 / 0.2 + 1 / 2.2) / 2);
}

static const enum eh_load_policy all[] = {
	EH_LOAD_LOCAL, EH_LOAD_TWO,  EH_LOAD_JIQ,  EH_LOAD_ETA,
	EH_LOAD_ETA1,  EH_LOAD_HINT, EH_LOAD_IDLE, EH_LOAD_SHARED
};

/* Tasks are the same for all policies; a seed repeats its run; nothing is lost, and nothing takes less
 * than it computes. */
static void test_policies(void **state)
{
	double service = 0;

	for (unsigned int i = 0; i < 60; i++) {
		struct eh_load_options o = options_of(all[random_below(EH_LOAD_POLICIES)], 0.9);
		struct eh_load_result a, b;

		o.topology = (struct eh_topology){ 1 + random_below(3), 1 + random_below(3) };
		o.processors = 1 + random_below(4);
		o.load = 0.3 + 0.01 * random_below(65);
		o.transfer = random_below(2) * 0.02;
		o.age = random_below(2) * 0.05 * random_below(4);
		o.hold = random_below(2) * 0.3;
		o.queue = random_below(2);
		o.service = random_below(EH_LOAD_TRACE);
		o.tasks = 20000;
		o.seed = random_64();
		if (o.policy != EH_LOAD_LOCAL)
			o.hot = random_below((1u << o.topology.n * o.topology.l) + 1);
		a = run_of(&o);
		b = run_of(&o);
		assert_memory_equal(&a, &b, sizeof(a));
		assert_true(a.response.mean >= a.service - 1e-9);
		assert_true(a.response.p50 <= a.response.p90 && a.response.p99 <= a.response.most);
		assert_true(a.fairness > 0 && a.fairness <= 1 + 1e-9);
		assert_true(a.transfers <= a.arrivals && a.overdue <= a.held);
		o.policy = EH_LOAD_SHARED;
		assert_true(fabs(run_of(&o).service - a.service) < 1e-9);
		service += a.service;
	}
	assert_true(service > 0);
}

/* The policies from the best to the worst, as in docs/hierarchy.md. */
static void test_order(void **state)
{
	static const enum eh_load_policy order[] = { EH_LOAD_SHARED, EH_LOAD_IDLE, EH_LOAD_JIQ,
						     EH_LOAD_HINT,   EH_LOAD_ETA,  EH_LOAD_LOCAL };
	double before = 1;

	for (unsigned int i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		struct eh_load_options o = options_of(order[i], 0.9);
		double mean;

		o.topology = (struct eh_topology){ 3, 2 };
		o.transfer = 0.01;
		o.hold = order[i] == EH_LOAD_IDLE ? 0.2 : 0;
		o.tasks = 300000;
		o.seed = 1;
		mean = run_of(&o).response.mean;
		assert_true(mean > before);
		before = mean;
	}
}

static void test_refused(void **state)
{
	struct eh_load_options good = options_of(EH_LOAD_LOCAL, 0.5), o;
	static const double slow[] = { 1, 0 };
	struct eh_load_result r;

#define REFUSED(change, error)                                              \
	do {                                                                \
		o = good;                                                   \
		o.change;                                                   \
		assert_int_equal(eh_load_run(&o, NULL, NULL, &r), (error)); \
	} while (0)

	REFUSED(topology.n = 0, -EINVAL);
	REFUSED(topology.l = 11, -EINVAL);
	REFUSED(load = 1, -EINVAL);
	REFUSED(load = 0, -EINVAL);
	REFUSED(load = NAN, -EINVAL);
	REFUSED(processors = 0, -EINVAL);
	REFUSED(processors = 65, -EINVAL);
	REFUSED(transfer = -1, -EINVAL);
	REFUSED(age = NAN, -EINVAL);
	REFUSED(hold = -1, -EINVAL);
	REFUSED(tasks = 0, -EINVAL);
	REFUSED(service = EH_LOAD_TRACE, -EINVAL);
	REFUSED(policy = EH_LOAD_POLICIES, -EINVAL);
	REFUSED(speeds = slow; o.nspeeds = 2, -EINVAL);
	REFUSED(hot = 1, -EDOM);
	REFUSED(hot = 5, -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_processor), cmocka_unit_test(test_one_queue),
		cmocka_unit_test(test_service),	      cmocka_unit_test(test_speeds),
		cmocka_unit_test(test_policies),      cmocka_unit_test(test_order),
		cmocka_unit_test(test_refused),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
