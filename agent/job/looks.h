/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file looks.h
 * Questions about paths that users and peers name, which ehlook processes answer with the rights of the
 * user: the loop of the agent resolves none of them. A process that does not answer in time is killed
 * and another one is started; one that cannot die, because a file system holds it, is left alone. Of
 * each user and in all there are limited numbers of both. For ten seconds after a question that had no
 * answer no peer's is asked for its user, who would wait again.
 */
#ifndef AGENT_JOB_LOOKS_H
#define AGENT_JOB_LOOKS_H

#include <sys/types.h>
#include "wire/look.h"

struct agent;
struct look;

/** Borrowed by look_start(). */
struct look_question {
	uid_t uid;
	pid_t pid; /**< of the user's process: its directory and groups count; 0: those that follow */
	const char *folder;
	const char *path; /**< of the program; relative to the directory */
};

/** The answer, which is valid during the call only; NULL: there is none, `trouble` says why. */
typedef void (*look_fn)(void *ctx, const struct look_answer *answer, const char *trouble);

/** `done` is called once, from the loop. NULL: not asked, *trouble says why. */
struct look *look_start(struct agent *agent, const struct look_question *q, look_fn done, void *ctx,
			const char **trouble);
/** After an answer, and in the call: asks for the digest of its program. `done` is called once. */
void look_digest(struct look *l, look_fn done, void *ctx);
/** A file system has not answered for a task of this user. */
void looks_note_silent(struct agent *agent, uid_t uid);
/** Why nothing is looked at for peers' tasks of this user now; NULL: it is. */
const char *looks_silent(const struct agent *agent, uid_t uid);
/** Frees it; what it has asked for is not waited for any more. Each look_start() is followed by one. */
void look_end(struct look *l);

/** Starts one process, so that the first question does not wait for it. 0 or -ENOMEM. */
int looks_init(struct agent *agent);
/** Ends the processes. Nobody may wait for an answer any more. */
void looks_exit(struct agent *agent);

#endif
