/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file history.h
 * What is told to ehhist, which keeps it in a file: the tasks of this node whose placement the agent
 * decided, from the decision to their end. Nothing here waits: what ehhist does not take at once is
 * dropped, and counted.
 */
#ifndef AGENT_HOME_HISTORY_H
#define AGENT_HOME_HISTORY_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

struct agent;
struct placement;

/** As sessions_of(): that file is in a later room. */
typedef bool (*history_session_fn)(struct agent *agent, pid_t pid, char name[64]);

/**
 * Starts ehhist, if the configuration says so. It logs what fails, and there is no history then. To be
 * called before the agent gives up to start programs.
 */
void history_init(struct agent *agent, history_session_fn session);
/** The limits may be others now. */
void history_reload(struct agent *agent);
/** Answers what was asked: there is no answer to come. */
void history_end(struct agent *agent);
/** ehhist ends when it has written what it was told. */
void history_exit(struct agent *agent);

/** It is to be placed: notes its session. */
void history_begin(struct placement *p);
/** It runs elsewhere. */
void history_away(struct placement *p);
/** It is not elsewhere. `runs`: it runs here; else it was refused, and does not run at all. */
void history_stays(struct placement *p, bool runs);
/** It ran elsewhere, and has ended with this status, as from waitpid(). */
void history_ended(struct placement *p, int status, bool lost);

/** What happened (home/incidents.h); taken over. */
void history_event(struct agent *agent, json_t *event_stolen);

/** The answer of ehhist (helpers/ehhist/query.h), borrowed; NULL: there is none, and why. */
typedef void (*history_fn)(void *ctx, json_t *answer, const char *why);
/** Asks ehhist (query.h has what can be asked; taken over), for this user: users take turns. `call` is called
 *  once, perhaps at once. */
void history_ask(struct agent *agent, uid_t uid, json_t *ask, history_fn call, void *ctx);

#endif
