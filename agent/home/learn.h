/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file learn.h
 * Remembers what programs cost (cost/table.h), for each user apart, and keeps tasks here that are
 * expected to be shorter than two transfers; both only with `learn`. A file beside `state` has the
 * costs. Without memory nothing is remembered, which is not an error.
 */
#ifndef AGENT_HOME_LEARN_H
#define AGENT_HOME_LEARN_H

#include <stdbool.h>

struct agent;
struct placement;
struct peer;
struct placement_task;

/**
 * At the start of a placement: whether the task is too short to go. Never if its user names a node,
 * or wants all to go. The record gets what is expected.
 */
bool learn_keeps(struct placement *p, const struct placement_task *task);
/** It runs here, and its process still waits for that answer. */
void learn_stays(struct placement *p);
void learn_started(struct placement *p); /**< elsewhere */
/** How long its user's programs take there at least, for each 1000 that they take here; 0: not known. */
unsigned int learn_slowness(const struct placement *p, const struct peer *there);
/** Whether it is to run there although that is slower: one an hour, cost_retries(). */
bool learn_retries(const struct placement *p, const struct peer *there);
/** It was killed elsewhere because memory was short: more is expected of the next one. */
void learn_starved(struct placement *p);
void learn_ended(struct placement *p, int status); /**< there; what it used is in the record */

int learn_init(struct agent *agent); /**< 0 or -ENOMEM */
void learn_exit(struct agent *agent);

#endif
