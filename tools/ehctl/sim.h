/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file sim.h  ehctl sim: runs of the decision core without a cluster. */
#ifndef EHCTL_SIM_H
#define EHCTL_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eh/tree.h"

/* ---- sim_trace.c ---- */

struct sim_event {
	bool finish;
	uint32_t node; /**< of an arrival */
	uint32_t task; /**< 0..tasks-1 */
	uint64_t size; /**< thousandths */
};

struct sim_trace {
	struct sim_event *events;
	size_t count;
	char **ids; /**< of the tasks */
	uint32_t tasks;
};

/** Tasks with decimals into thousandths, rounded: "1.5". 0 or -EINVAL (also above `max`). */
int sim_parse_tasks(const char *text, uint64_t max, uint64_t *out);
/** "-" is standard input. 0, or an exit code after a message with file:line. */
int sim_trace_read(const char *path, const struct eh_topology *topology, struct sim_trace *out);
void sim_trace_free(struct sim_trace *trace);

/* ---- sim_run.c ---- */

struct sim_options {
	struct eh_tree_options tree; /**< its seed and lag are set for each run */
	uint64_t arrivals; /**< random ones, a task each, at random nodes */
	double release; /**< probability that a random live task ends after an arrival */
	double delay; /**< of what controllers hear, in mean inter-arrival times */
	const struct sim_trace *trace; /**< instead of random arrivals */
};

struct sim_result {
	struct eh_tree_counts counts;
	uint64_t load_min, load_max, load_total; /**< of the nodes, at the end */
	bool refused;
	uint64_t first_refusal; /**< total load at it */
	size_t bytes;
};

/** What happens, as it does; members may be NULL. */
struct sim_watch {
	void *ctx;
	void (*decided)(void *ctx, uint32_t task, uint32_t at, const struct eh_tree_update *update);
	/** After each `every` arrivals, not 0. */
	void (*sampled)(void *ctx, uint64_t arrivals, const struct eh_tree *tree);
	uint64_t every;
};

/** One run. 0, -ENOMEM, -EINVAL (more load than can be counted). */
int sim_run(const struct sim_options *options, uint64_t seed, const struct sim_watch *watch,
	    struct sim_result *result);

/** Least and largest load of the nodes, and the sum. */
void sim_loads(const struct eh_tree *tree, const struct eh_topology *topology, uint64_t *min,
	       uint64_t *max, uint64_t *total);

/* ---- sim_plot.c ---- */

/** Figure 3 of the paper, and the spread of loads over time: means of `runs` runs. An exit code,
 *  after a message if it is not 0. */
int sim_plot(const struct sim_options *options, const char *name, uint64_t seed, unsigned int runs,
	     const char *path);

/* ---- sim.c ---- */

/** On a terminal only, a few times a second. */
void sim_progress(const char *what, uint64_t done, uint64_t all);

#endif
