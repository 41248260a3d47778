/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file run.h  One run of the simulator: arrivals and ends of tasks in a tree or a world. */
#ifndef EHSIM_RUN_H
#define EHSIM_RUN_H

#include "failure.h"
#include "protocol.h"
#include "sim/tree.h"
#include "trace.h"

#define RUN_TICKS 1000 /**< of the simulated clock, in a mean inter-arrival time */

struct run_options {
	struct eh_tree_options tree; /**< its seed and lag are set for each run */
	uint64_t arrivals; /**< random ones, of one task each, at random nodes */
	double release; /**< probability that a random running task ends after an arrival */
	double delay; /**< of what controllers hear, in mean inter-arrival times */
	const struct trace *trace; /**< instead of random arrivals; or NULL */
	bool messages; /**< message by message (world_run.h); what follows is for that alone */
	double loss; /**< probability that a message does not arrive */
	double heartbeat; /**< in mean inter-arrival times; 0: 20, or ten delays if that is more */
	const struct failure *failures;
	size_t nfailures;
};

struct run_result {
	struct eh_tree_counts counts;
	uint64_t load_min, load_max, load_total; /**< of the nodes at the end, in thousandths */
	bool refused; /**< a task was */
	uint64_t first_refusal; /**< total load at the first one, in thousandths */
	size_t bytes; /**< memory of the tree */
	struct protocol protocol;
};

/** Called while a run goes on; functions may be NULL. */
struct run_watch {
	void *ctx;
	/** A task has its place. */
	void (*decided)(void *ctx, uint32_t task, uint32_t at, const struct eh_tree_update *update);
	/** After each `every` arrivals, not 0; `tree` is NULL with `messages`. */
	void (*sampled)(void *ctx, uint64_t arrivals, const struct eh_tree *tree);
	uint64_t every;
};

/** A whole run. 0, -ENOMEM, or -EINVAL: more load than can be counted. */
int run_once(const struct run_options *options, uint64_t seed, const struct run_watch *watch,
	     struct run_result *result);

/** Least and largest load of the nodes, and the sum, in thousandths. */
void run_loads(const struct eh_tree *tree, const struct eh_topology *topology, uint64_t *min,
	       uint64_t *max, uint64_t *total);
/** Arrivals of a run: random ones, or those of the trace. */
uint64_t run_arrivals(const struct run_options *options);

#endif
