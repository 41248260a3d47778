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
#include <stdint.h>
#include <sys/types.h>

/** What is read. */
struct input_source {
	bool terminal, socket; /**< else a pipe */
	bool opened; /**< looks for those that have opened it to read without waiting, instead */
	dev_t device; /**< of the terminal */
	ino_t inode; /**< of the pipe or socket */
};

/**
 * What processes wait for. Bytes that were taken and are not read are lost to the next reader: what is
 * not known is never a wish.
 */
struct input_wish {
	size_t bytes; /**< as much as one of them reads now; 0: none is seen to wait */
	/** There may be readers that want more: those that wait until it can be read, for which
	 *  `bytes` is 1, and those that cannot be looked at, for which it is 0. */
	bool unsure;
};

/** What descendants of this process wait for. */
struct input_wish input_wanted(const struct input_source *source);

/** When to look again, `ms` from now; later if the last look, begun at `now`, has taken long. */
int64_t input_look_after(int64_t now, int64_t ms);

/* ---- input_call.c ---- */

/** The same for one thread. */
struct input_wish input_thread(const struct input_source *source, long pid, long tid);

#endif
