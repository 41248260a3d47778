/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file journal.h
 * What has been run of a workflow: a file of JSON lines, one for each end of a task.
 * The process that waits for tasks writes their ends, so that they are known though ehctl was killed.
 * It shares ehctl's lock (flock), which ends with the last of them.
 */
#ifndef EHPLAN_JOURNAL_H
#define EHPLAN_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

/** An end that the journal has. */
typedef void (*journal_ended)(void *ctx, const char *task, uint64_t key, int code);

/** Opens or makes the file, locked. With `resume` tasks of an earlier run that still run are waited
 *  for, and `ended` is called for each end; without, the file begins empty. A descriptor, or -1 after
 *  a message, with the exit code in *code. */
int journal_open(const char *path, bool resume, journal_ended ended, void *ctx, int *code);
/** One line about an end. `seconds`: it took. It is known to later runs when this returns, and on disk
 *  after journal_sync(). 0 or -errno. */
int journal_write(int fd, const char *task, uint64_t key, const char *host, int code,
		  double seconds);
int journal_sync(int fd); /**< 0 or -errno */

#endif
