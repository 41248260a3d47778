/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file memory.h
 * Memory of this node: what is left, how long tasks wait for it, how many were killed for it; and what
 * tasks that run here, or may soon, are expected to take yet.
 */
#ifndef AGENT_NODE_MEMORY_H
#define AGENT_NODE_MEMORY_H

#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct agent;

struct memory_state {
	uint64_t left; /**< bytes available without swapping; 0 if it cannot be read */
	uint64_t all; /**< of these and those in use; 0: not known */
	double waits; /**< per cent of ten seconds in which some task waited for memory; 0: not known */
};

/** What one task is expected to take. Zero: nothing is. */
struct memory_claim {
	LIST_ENTRY(memory_claim) link;
	uint64_t peak; /**< bytes */
	uint64_t seen; /**< the most that it had */
	uint64_t began; /**< clock_ms() */
	pid_t pid; /**< 0: not started */
	const char *guest; /**< its ID; NULL: a task of this node */
};

/** Reads the files below `memory` of the configuration. */
void memory_look(const struct agent *agent, struct memory_state *out);
/** The part that is in use, from 0 to 1, as it was at most a second ago; below 0: not known. */
double memory_used(struct agent *agent);
/** Processes that were killed because there was no more; 0: none, or not known. */
uint64_t memory_kills(const struct agent *agent);

/**
 * The task counts until memory_unclaim(), which may be called without it. The rest that it has not
 * taken counts half as much after each minute: a wrong guess holds nobody off for long.
 */
void memory_claim(struct agent *agent, struct memory_claim *c);
void memory_unclaim(struct memory_claim *c);
/** What they are expected to take yet, all together. */
uint64_t memory_expected(struct agent *agent);

int memory_init(struct agent *agent); /**< 0 or -ENOMEM */
void memory_exit(struct agent *agent);

#endif
