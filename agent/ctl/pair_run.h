/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file pair_run.h  This node tests others (pair_probe.h), for itself or for another node: POST /v1/pairs. */
#ifndef AGENT_CTL_PAIR_RUN_H
#define AGENT_CTL_PAIR_RUN_H

#include <jansson.h>

struct agent;
struct peer;
struct server_answer;

#define PAIR_RUN_NODES 64 /**< that are tested in one run */
#define PAIR_RUN_MS 50000 /**< it is over then: 8 at a time, and the names before */

/** The answer of POST /v1/pairs, with 200; else why there is none. */
typedef void (*pair_run_fn)(void *ctx, int status, json_t *answer_stolen);

/** For this node itself; `body` is that of POST /v1/pairs. `done` is called once, perhaps at once. */
void pair_run_own(struct agent *agent, const json_t *body, pair_run_fn done, void *ctx);
/** Handler of POST /v1/pairs. */
void pair_run_on_request(struct agent *agent, struct peer *from, const json_t *body,
			 struct server_answer *answer);
/** Ends the run; it is told that the agent ends. */
void pair_run_exit(struct agent *agent);

#endif
