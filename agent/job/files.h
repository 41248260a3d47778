/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file files.h
 * Whether program and directory of a task are the same here and there. A thread computes digests.
 */
#ifndef AGENT_JOB_FILES_H
#define AGENT_JOB_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

struct agent;

/**
 * Identity of a program as seen here, or (files_folder) of a directory, as JSON for /v1/reserve. A
 * relative path is that of process `pid`. `done` is called once, at once if the digest is cached;
 * `identity` is borrowed, NULL if the file cannot be read. The caller owns files_folder()'s result.
 */
typedef void (*files_fn)(void *ctx, json_t *identity);
void files_program(struct agent *agent, const char *path, pid_t pid, files_fn done, void *ctx);
json_t *files_folder(const char *path_or_proc_cwd);
bool files_same_folder(const json_t *there, const char *path);
/** Whether `path` is the program that `there` describes. `done` is called once, perhaps at once. */
typedef void (*files_same_fn)(void *ctx, bool same);
void files_same_program(struct agent *agent, const json_t *there, const char *path,
			files_same_fn done, void *ctx);

/** Ends the thread. Callers that wait for a digest get none. */
void files_exit(struct agent *agent);

#endif
