/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file world_run.h
 * A run message by message: every node is a member of the agents' protocol (sim/world.h), with delays,
 * losses and failures. A mean inter-arrival time is RUN_TICKS of the world.
 */
#ifndef EHSIM_WORLD_RUN_H
#define EHSIM_WORLD_RUN_H

#include "run.h"

struct world_run;

/** All nodes are started and have found their controllers, so that arrivals can begin.
 *  NULL: no memory. */
struct world_run *world_run_new(const struct run_options *options, uint64_t seed,
				const struct run_watch *watch, struct run_result *result);
void world_run_free(struct world_run *run);

/* These return 0 or -ENOMEM. */

/** Lets `inter_arrivals` mean inter-arrival times pass. */
int world_run_pass(struct world_run *run, double inter_arrivals);
/** Tasks are numbered in the order of arrival. If the node is dead, a task of a trace does not arrive at
 *  all, and a random one arrives at another node. */
int world_run_arrive(struct world_run *run, uint32_t task, uint32_t node, uint64_t size);
/** Ends a task, now or as soon as it runs. Nothing happens if it was lost. */
void world_run_finish(struct world_run *run, uint32_t task);
/** Ends one of the running tasks, chosen by a number from 0 to below 1. */
void world_run_release(struct world_run *run, double which);
/** Waits for the last answers and failures, and fills in the result. */
int world_run_end(struct world_run *run);

#endif
