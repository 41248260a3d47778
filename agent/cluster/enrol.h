/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file enrol.h
 * This agent's roster: joins and leaves that others ask for, and the exchange
 * of rosters.
 */
#ifndef AGENT_CLUSTER_ENROL_H
#define AGENT_CLUSTER_ENROL_H

#include <jansson.h>
#include "cluster/roster.h"
#include "net/h2_stream.h"
#include "net/peer.h"

struct agent;
struct server_answer;

/** What it asks of the room's other files. */
struct enrol_ops {
	/** The top controller, which decides. NULL: not known yet; a node that has not found the
	 *  controllers above it is not the top for that. */
	struct peer *(*top)(struct agent *agent);
};

/** Fills the table of peers from `roster` (taken over; NULL: none is known) and the configuration.
 *  0; -EEXIST: this host does not have the code it is to run with (said in the log); -ENOMEM. */
int enrol_init(struct agent *agent, const struct enrol_ops *ops, struct roster *roster);
/** The configuration was swapped. */
void enrol_reload(struct agent *agent, const struct config *old);
void enrol_exit(struct agent *agent);

/** Of this agent's roster: grows with each change; messages of the hierarchy carry it. */
uint64_t enrol_version(struct agent *agent);
/** Exchanges rosters with a peer that has a newer one. */
void enrol_pull(struct peer *from);

/** A peer's hello or message: when its member `roster` is newer than ours, it is fetched. */
void enrol_seen(struct peer *from, const json_t *body);
/** Whether a peer that says it listens on `address` (NULL: nothing) has to tell the roster. */
bool enrol_has_moved(const struct peer *p, const char *address);
/** An answer of POST /v1/join or GET /v1/roster: its roster is merged into ours. NULL, or what is wrong. */
const char *enrol_take(struct agent *agent, const json_t *answer);
/** Body of POST /v1/join of this host, with the code it wishes (or NULL), or `runs` as; NULL: no memory. */
json_t *enrol_question(struct agent *agent, const char *code, bool runs);
/** Whether a peer that does not know this host should be asked to let it in. */
bool enrol_may_ask(struct agent *agent);

/** A peer says that our code is another's. When none says otherwise for a while, the agent ends. */
void enrol_refused(struct agent *agent);

/** Takes this host out of the roster for good and tells another member. `done` is called once:
 *  NULL, or why it could not be told. */
typedef void (*enrol_left_fn)(struct agent *agent, const char *why);
void enrol_leave(struct agent *agent, enrol_left_fn done);

/** Handlers. */
void enrol_on_join(struct agent *agent, struct peer *from, const json_t *body,
		   struct server_answer *answer);
void enrol_on_leave(struct agent *agent, struct peer *from, const json_t *body,
		    struct server_answer *answer);
/** GET: for everybody. */
json_t *enrol_on_roster(struct agent *agent, struct peer *from, const json_t *body, int *status);
/** POST: merges a member's roster into ours. */
json_t *enrol_on_exchange(struct agent *agent, struct peer *from, const json_t *body, int *status);

#endif
