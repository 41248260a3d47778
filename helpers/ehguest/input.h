/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file input.h
 * Whether a process of the program waits to read. Neither a pipe nor a pseudo-terminal tells its
 * other end, but the system calls that the processes wait in show it.
 */
#ifndef EHGUEST_INPUT_H
#define EHGUEST_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** Mostly given to a reader of which it is not known how much it reads. */
#define INPUT_UNKNOWN 4096

/** What is read. */
struct input_source {
	bool terminal, socket; /**< else a pipe */
	dev_t device; /**< of the terminal */
	ino_t inode; /**< of the pipe or socket */
	size_t unknown; /**< given to a reader of which it is not known how much it reads */
};

/** Returns how many bytes a descendant of this process waits for, 0: none waits. */
size_t input_wanted(const struct input_source *source);

/* ---- input_call.c ---- */

/** The same for one thread. */
size_t input_thread(const struct input_source *source, long pid, long tid);

#endif
