/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file own_roster.h
 * This agent's roster, and the exchange of rosters between members. Admission and removal of members are decided
 * in admission.h.
 */
#ifndef AGENT_CLUSTER_OWN_ROSTER_H
#define AGENT_CLUSTER_OWN_ROSTER_H

#include <jansson.h>
#include "cluster/roster.h"
#include "net/h2_stream.h"
#include "net/peer.h"

struct agent;

/** What own_roster.c needs to know. wiring.c fills it in. */
struct own_roster_ops {
	/**
	 * The top controller, which decides; NULL: not known yet. A node that has not found the
	 * controllers above it does not count as the top.
	 */
	struct peer *(*top)(struct agent *agent);
	/** exchange_begin() */
	int (*exchange)(struct peer *with, void (*done)(struct peer *with, bool reached));
};

/**
 * Builds the table of peers from the roster and the configuration. Takes over `roster` (NULL:
 * none is known). 0; -EEXIST, with a log message: the roster gives this host another code than
 * the one it is to run with; -ENOMEM.
 */
int own_roster_init(struct agent *agent, const struct own_roster_ops *ops, struct roster *roster);
/** The configuration was replaced: its peers take the place of those in `old`. */
void own_roster_reload(struct agent *agent, const struct config *old);
void own_roster_exit(struct agent *agent);

/** Version of this agent's roster; grows with each change. Messages of the hierarchy carry it. */
uint64_t own_roster_version(struct agent *agent);

/** The roster itself. A caller that changes it, as the top controller, calls own_roster_decided() then. */
struct roster *own_roster(const struct agent *agent);
void own_roster_decided(struct agent *agent);
/** Codes given by this agent, as the top controller, and not signed yet. NULL: no memory. */
struct roster *own_roster_held(struct agent *agent);
/** The top controller; NULL: not known yet. */
struct peer *own_roster_top(struct agent *agent);

/** This host's entry of the roster, for hellos. NULL: it has none. The caller owns it. */
json_t *own_roster_entry(struct agent *agent);
/** Looks at the entry in the hello of a host with this CN, which may not be a member yet. */
void own_roster_introduced(struct agent *agent, const char *cn, const json_t *body);
/** Looks at a peer's hello or message. Fetches its roster if its version is newer than ours. */
void own_roster_seen(struct peer *from, const json_t *body);
/** Whether the roster has another address for a peer that listens on `address` (NULL: unknown). */
bool own_roster_has_moved(const struct peer *p, const char *address);
/** Merges a roster, or a part of one, that a peer sent (NULL: with an answer of one). NULL, or what
 *  is wrong with it. */
const char *own_roster_hear(struct agent *agent, struct peer *from, const json_t *body);
/** This host has a new certificate: it signs its entry again, and tells that. */
void own_roster_renewed(struct agent *agent);
/**
 * Merges the roster in an answer of POST /v1/join, and signs what it says of this host. NULL, or
 * what is wrong.
 */
const char *own_roster_take(struct agent *agent, const json_t *answer);
/**
 * Body of this host's POST /v1/join. `code` is the code it wants (NULL: any) or, with `runs`,
 * already runs with. The caller owns it; NULL: out of memory.
 */
json_t *own_roster_question(struct agent *agent, const char *code, bool runs);
/** Whether a peer that does not know this host should be asked to admit it. */
bool own_roster_may_ask(struct agent *agent);

/**
 * A peer says that our code belongs to another host. Ends the agent unless a peer is up within 10
 * s.
 */
void own_roster_refused(struct agent *agent);

/**
 * Takes this host out of the cluster for good: tells another member and removes the saved
 * roster. `done` is called once, perhaps at once, with NULL or why it failed.
 */
typedef void (*own_roster_left_fn)(struct agent *agent, const char *why);
void own_roster_leave(struct agent *agent, own_roster_left_fn done);

#endif
