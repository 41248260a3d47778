/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file stops.h
 * Stubs that are stopped while their task is away. Such a stub cannot connect to the next agent, and
 * its executor waits for it for long (ATTACH_STOPPED_MS). So they are kept in a file, and the next
 * agent tells the executor of each that has ended meanwhile.
 */
#ifndef AGENT_HOME_STOPS_H
#define AGENT_HOME_STOPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include "wire/attach.h"

struct agent;
struct away;
struct peer;

/** A task of an earlier agent, whose stub has not connected to this one. */
struct stop {
	LIST_ENTRY(stop) link;
	char token[ATTACH_TOKEN], id[ATTACH_ID], node[ATTACH_CODE];
	pid_t pid;
	uid_t uid;
	uint64_t start; /**< of the stub, as in struct process; 0: of an earlier boot */
	int64_t began_ms;
	uint64_t broken_at; /**< clock_ms(), perhaps before the boot: wraps */
};

/** Tells the executor of one whose stub has ended. False: that cannot be done yet. */
typedef bool (*stops_ended_fn)(struct agent *agent, const struct stop *s);

int stops_init(struct agent *agent,
	       stops_ended_fn ended); /**< 0 or -ENOMEM; agent->aways is there */
/** This agent ends: what is stopped now is for the next one. */
void stops_keep(struct agent *agent);
void stops_exit(struct agent *agent);
/** Looks for stops as long as a task is away. 0 or -ENOMEM. */
int stops_watch(struct agent *agent, bool any);
/** Its stop there or here has changed. */
void stops_changed(struct away *a);
/** It is over and leaves the list of tasks. */
void stops_over(struct away *a);
/** The stub of a task of an earlier agent has connected. */
void stops_come(struct away *a);
/** Whether a stub of this user whose task this peer runs is stopped, and has not connected yet. */
bool stops_waits(const struct peer *to, uid_t uid);

#endif
