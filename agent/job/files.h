/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file files.h
 * Whether program and directory of a task are the same here and there. A program is identified by a
 * digest of its content. The paths are looked up elsewhere, with the rights of the user: job/looks.h.
 */
#ifndef AGENT_JOB_FILES_H
#define AGENT_JOB_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include "job/looks.h"

struct agent;
struct files_question;
struct seen;

/** Program and directory as seen here, as JSON for /v1/reserve. */
struct files_identity {
	json_t *program, *folder; /**< borrowed */
	const char *real; /**< path of the program without links; "": not known */
	const char *folder_path;
};

/** NULL: they cannot be examined, and `trouble` says why. */
typedef void (*files_identity_fn)(void *ctx, const struct files_identity *identity,
				  const char *trouble);

enum files_result { FILES_SAME, FILES_FOLDER_DIFFERS, FILES_PROGRAM_DIFFERS, FILES_UNKNOWN };
/** `trouble`: why it is not known that they are the same; NULL: they are not, or are missing. */
typedef void (*files_result_fn)(void *ctx, enum files_result result, const char *trouble);

/** `done` is called once, from the loop, unless it is cancelled. NULL: not asked, *trouble says why. */
struct files_question *files_identify(struct agent *agent, const struct look_question *q,
				      files_identity_fn done, void *ctx, const char **trouble);
/** Whether program and directory here are those that a peer describes; both are borrowed. */
struct files_question *files_compare(struct agent *agent, const struct look_question *q,
				     json_t *program, json_t *folder, files_result_fn done,
				     void *ctx, const char **trouble);
/**
 * The same from what an end of a task of this user has seen, without a question. If no digest of that
 * program is known which the user may know, they return false and FILES_UNKNOWN: then it must be asked.
 * Of identify both are the caller's, or NULL; `path` is the directory's.
 */
bool files_identify_seen(struct agent *agent, const struct seen *said, uid_t uid, const char *path,
			 json_t **program, json_t **folder);
enum files_result files_compare_seen(struct agent *agent, const struct seen *said, uid_t uid,
				     const json_t *program, const json_t *folder);

/** Nobody waits any more. Not in or after the call of `done`. */
void files_cancel(struct files_question *q);

/** Tells those who wait that there is no answer. */
void files_exit(struct agent *agent);

#endif
