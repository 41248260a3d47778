/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file load.h
 * Tasks with service times on the nodes of an EH(n,l): how long they take under
 * a policy of placement, against how long they compute (load_run.h). Times are
 * mean service times, so a task computes for 1 on average. A task that runs
 * elsewhere than where it arrived computes `transfer` more. The same seed gives
 * all policies the same arrivals.
 */
#ifndef EH_LOAD_H
#define EH_LOAD_H

#include "eh/topology.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EH_LOAD_BITS_MAX 20 /**< largest n*l */
#define EH_LOAD_PROCESSORS_MAX 64

enum eh_load_policy {
	EH_LOAD_LOCAL, /**< each node alone */
	EH_LOAD_TWO, /**< the less loaded of home and another node at random */
	EH_LOAD_JIQ, /**< join idle queue (Lu 2011): home if it is idle, an idle node, any node */
	EH_LOAD_ETA, /**< paper 4 (tree.h) */
	EH_LOAD_ETA1,
	EH_LOAD_HINT, /**< EH_HINT of tree.h */
	EH_LOAD_IDLE, /**< free processors first, then thresholds, as ETA has them (eh/idle.h) */
	EH_LOAD_SHARED, /**< a bound: all wait in one queue, whose first a free processor takes */
	EH_LOAD_POLICIES
};

enum eh_load_service {
	EH_LOAD_EXPONENTIAL,
	EH_LOAD_HYPER, /**< one of two exponentials, of balanced means, squared variation 10 */
	EH_LOAD_PARETO, /**< P(X > x) = 1/4x^2 from 1/2 on: no variance */
	EH_LOAD_CONSTANT,
	EH_LOAD_TRACE, /**< one of `trace`, each equally often */
};

struct eh_load_options {
	struct eh_topology topology;
	enum eh_load_policy policy;
	double load; /**< work that arrives for what all processors can do, below 1 */
	unsigned int processors; /**< of each node, from 1 */
	/** Of the processors of a node, by node, again from the first; none: 1. */
	const double *speeds;
	size_t nspeeds;
	enum eh_load_service service;
	const double *trace; /**< positive times, in any unit */
	size_t ntrace;
	double transfer; /**< what a transfer adds to the work of a task */
	double age; /**< how old news of loads and of free processors is */
	uint32_t hot; /**< this many nodes get all arrivals; 0: all do */
	bool queue; /**< one task a processor, others wait; else nodes share processors evenly */
	uint64_t length; /**< threshold length, in thousandths of a task */
	/** EH_LOAD_IDLE, if there is no free processor: how long an exec waits at home for one
	 *  before it goes where a task runs already, or thresholds are asked, as a part of what
	 *  it will compute; 0: it does not. */
	double hold;
	uint64_t tasks; /**< arrivals; the first tenth is not measured */
	uint64_t seed;
};

/** Messages, each over one edge of the tree. */
enum eh_load_message {
	EH_LOAD_STATE, /**< loads told upward */
	EH_LOAD_ASK, /**< upward */
	EH_LOAD_ANSWER, /**< to home */
	EH_LOAD_FORWARD, /**< an ask on its way down */
	EH_LOAD_THRESHOLD,
	EH_LOAD_HINTED, /**< downward */
	EH_LOAD_CREDIT, /**< of free processors, upward */
	EH_LOAD_RETURN, /**< of one that nobody will use, to its node */
	EH_LOAD_MESSAGES
};

struct eh_load_times {
	double mean, p50, p90, p95, p99, p999, most;
};

struct eh_load_result {
	uint64_t measured; /**< tasks */
	struct eh_load_times response; /**< for the mean service time */
	struct eh_load_times slowdown; /**< for the task's own service time */
	double service; /**< mean of what the measured tasks computed */
	double busy; /**< part of the processors, over the whole run */
	double fairness; /**< Jain's index of the homes' mean response: 1 if all are the same */
	uint64_t arrivals, transfers;
	uint64_t declined; /**< transfers that the executor declined */
	uint64_t credits; /**< placements on processors that a credit named (EH_LOAD_IDLE) */
	uint64_t held, overdue; /**< execs that waited at home; of them, until the deadline */
	uint64_t changes; /**< of thresholds */
	/** By kind and level of the edge's upper end; 0: not known, or not of the tree. */
	uint64_t messages[EH_LOAD_MESSAGES][EH_LEVELS_MAX + 1];
	/** EH_LOAD_IDLE: those about credits that one node has sent or got as a controller, the one with the
	 *  most. */
	uint64_t busiest;
	size_t bytes; /**< of memory, not counting tasks */
};

#endif
