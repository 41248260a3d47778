/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file reserve_ask.h
 * The executor's decision on a request for a place: POST /v1/reserve, or the start of a job.
 */
#ifndef AGENT_EXECUTOR_RESERVE_ASK_H
#define AGENT_EXECUTOR_RESERVE_ASK_H

#include <jansson.h>
#include <stdbool.h>

struct agent;
struct peer;
struct reservation;
struct reserve_ask;
struct seen;
struct server_answer;

/** The answer to a request for a place, in the form of that to POST /v1/reserve; `granted` NULL: there is none. */
typedef void (*reserve_fn)(void *ctx, int status, json_t *reply_stolen,
			   struct reservation *granted);
/** A guest has its place, before it is known whether files are the same: its end is to tell what it sees. In the call
 *  of reserve_ask(). */
typedef void (*reserve_begin_fn)(void *ctx, struct reservation *r);
/**
 * Asks for a place. `done` is called once, later if the program must be looked at. With `begin` the place is that of a
 * guest, who waits for it, from the beginning: if begin() was called, the guest ends the place, whatever done() says.
 * Returns what can be cancelled, or NULL: `done` was called.
 */
struct reserve_ask *reserve_ask(struct peer *from, const json_t *body, reserve_begin_fn begin,
				reserve_fn done, void *ctx);
/** After begin(): what its end has seen. True: done() was called; else ehlook is asked now. */
bool reserve_ask_seen(struct reserve_ask *ask, const struct seen *said);
/** After begin(): files differ. done() is called. */
void reserve_ask_differs(struct reserve_ask *ask);
/** Nobody waits any more; `done` is not called. Not in or after its call. */
void reserve_cancel(struct reserve_ask *ask);
/** Handler of POST /v1/reserve. Answers later if the program must be looked at. */
void reserve_on_request(struct agent *agent, struct peer *from, const json_t *body,
			struct server_answer *answer);

#endif
