/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file files.h
 * Are they the same program and the same directory there as here? Digests come from a thread of
 * their own.
 */
#ifndef AGENT_JOB_FILES_H
#define AGENT_JOB_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

struct agent;

/** Identity of a program and a folder as seen here, as JSON for /v1/reserve. `done` is
 *  called once, at once if the digest is cached; NULL when it could not be read. */
typedef void (*files_fn)(void *ctx, json_t *identity);
void files_program(struct agent *agent, const char *path, pid_t pid, files_fn done, void *ctx);
json_t *files_folder(const char *path_or_proc_cwd);
bool files_same_folder(const json_t *there, const char *path);
/** Whether `path` is here what `there` says; `done` once, at once when it is known. */
typedef void (*files_same_fn)(void *ctx, bool same);
void files_same_program(struct agent *agent, const json_t *there, const char *path,
			files_same_fn done, void *ctx);

/** Ends the thread; those who wait for a digest are told that there is none. */
void files_exit(struct agent *agent);

#endif
