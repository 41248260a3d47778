/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file ehsim.h  What `ehctl sim` runs: runs of the decision core without a cluster. */
#ifndef EHSIM_H
#define EHSIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

#include "eh/member.h"
#include "sim/tree.h"
#include "tools/common/common.h"

#define SIM_TICKS 1000 /**< of the simulated clock, for a mean inter-arrival time */

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
/** A node by its index, or with a dot or a zero in front by its code. 0 or -EINVAL. */
int sim_parse_node(const struct eh_topology *topology, const char *text, uint32_t *out);
/** "-" is standard input. 0, or an exit code after a message with file:line. */
int sim_trace_read(const char *path, const struct eh_topology *topology, struct sim_trace *out);
void sim_trace_free(struct sim_trace *trace);

/* ---- sim_fail.c ---- */

enum sim_failure_kind {
	SIM_FAIL_NODE, /**< one dies; any: a random one */
	SIM_FAIL_TOP, /**< who leads all */
	SIM_FAIL_CONTROLLER, /**< who leads this group then */
	SIM_FAIL_GROUP, /**< all its nodes */
	SIM_FAIL_HALF, /**< those in the lower half of its codes */
	SIM_FAIL_CUT, /**< these and the others do not hear each other, until a time */
	SIM_FAIL_BACK, /**< who is dead there starts again; any: everywhere */
};

#define SIM_FAILURES_MAX 64

struct sim_failure {
	enum sim_failure_kind kind;
	struct eh_code code;
	bool any; /**< without a code */
	double at, until; /**< in mean inter-arrival times */
};

/** "node 0.3.7@100", "cut 0.1@50..90" and so on. NULL, or what is wrong with it. */
const char *sim_failure_parse(const char *text, const struct eh_topology *topology,
			      struct sim_failure *out);

/* ---- sim_run.c ---- */

struct sim_options {
	struct eh_tree_options tree; /**< its seed and lag are set for each run */
	uint64_t arrivals; /**< random ones, a task each, at random nodes */
	double release; /**< probability that a random live task ends after an arrival */
	double delay; /**< of what controllers hear, in mean inter-arrival times */
	const struct sim_trace *trace; /**< instead of random arrivals */
	bool messages; /**< over the agents' protocol; the following is for that alone */
	double loss; /**< probability that a message does not arrive */
	double heartbeat; /**< in mean inter-arrival times; 0: 20, or ten delays if that is more */
	const struct sim_failure *failures;
	size_t nfailures;
};

/** What the protocol did, with `messages`. Times are mean inter-arrival times. */
struct sim_protocol {
	uint64_t messages[EH_MSG_FAILED + 1];
	uint64_t at_top; /**< of them, to and from the node that leads all */
	uint64_t asked; /**< arrivals at senders */
	uint64_t home, away; /**< where tasks were placed */
	uint64_t reserved; /**< placements tried elsewhere, of two messages each */
	uint64_t late; /**< ran at home as no answer came in time */
	uint64_t lost; /**< with their home or executor */
	uint64_t nowhere; /**< arrived at a dead node */
	uint64_t killed;
	double orphaned; /**< without a controller: mean of the nodes, */
	double longest; /**< longest time of one */
	double time; /**< of the whole run */
};

struct sim_result {
	struct eh_tree_counts counts;
	uint64_t load_min, load_max, load_total; /**< of the nodes, at the end */
	bool refused;
	uint64_t first_refusal; /**< total load at it */
	size_t bytes;
	struct sim_protocol protocol;
};

/** What happens, as it does; members may be NULL. */
struct sim_watch {
	void *ctx;
	void (*decided)(void *ctx, uint32_t task, uint32_t at, const struct eh_tree_update *update);
	/** After each `every` arrivals, not 0; `tree` is NULL with `messages`. */
	void (*sampled)(void *ctx, uint64_t arrivals, const struct eh_tree *tree);
	uint64_t every;
};

/** One run. 0, -ENOMEM, -EINVAL (more load than can be counted). */
int sim_run(const struct sim_options *options, uint64_t seed, const struct sim_watch *watch,
	    struct sim_result *result);

/** Least and largest load of the nodes, and the sum. */
void sim_loads(const struct eh_tree *tree, const struct eh_topology *topology, uint64_t *min,
	       uint64_t *max, uint64_t *total);

/* ---- sim_world.c ---- */

struct sim_world;

/** All nodes started and settled, so that arrivals can begin. NULL: no memory. */
struct sim_world *sim_world_new(const struct sim_options *options, uint64_t seed,
				const struct sim_watch *watch, struct sim_result *result);
void sim_world_free(struct sim_world *world);
/* All return 0 or -ENOMEM. */
int sim_world_pass(struct sim_world *world, double inter_arrivals);
/** Tasks are numbered as they arrive. At a dead node: not at all in a trace, else at another. */
int sim_world_arrive(struct sim_world *world, uint32_t task, uint32_t node, uint64_t size);
/** Now, or as soon as it runs; of a lost one: nothing. */
int sim_world_finish(struct sim_world *world, uint32_t task);
/** One of those that run, by a number from 0 to below 1. */
int sim_world_release(struct sim_world *world, double which);
int sim_world_end(struct sim_world *world);

/* ---- sim_protocol.c ---- */

void sim_protocol_add(struct sim_protocol *to, const struct sim_protocol *from);
/** Of sums over runs. */
json_t *sim_protocol_json(const struct sim_protocol *sums, unsigned int runs);
void sim_protocol_print(const struct sim_protocol *sums, unsigned int runs);

/* ---- sim_plot.c ---- */

/** Figure 3 of the paper, and the spread of loads over time: means of `runs` runs. An exit code,
 *  after a message if it is not 0. */
int sim_plot(const struct sim_options *options, const char *name, uint64_t seed, unsigned int runs,
	     const char *path);

#endif
