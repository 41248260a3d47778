/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file tokens.h
 * The tokens of a build, as GNU make's jobserver has them: bytes in pipes that its processes inherit, one
 * to take them from and one to put them back into, or in a FIFO, which is both; and MAKEFLAGS, which says
 * where. Their keeper has open files of its own, so that its O_NONBLOCK is nobody else's.
 */
#ifndef EHCTL_TOKENS_H
#define EHCTL_TOKENS_H

#include <limits.h>
#include <stdbool.h>

enum tokens_style {
	TOKENS_AUTO, /**< a FIFO if the make that runs knows it (4.4) */
	TOKENS_PIPE,
	TOKENS_FIFO,
};

struct tokens {
	int read, write; /**< the keeper's, of what is taken from: what is in there is free */
	int back; /**< the keeper's, of what was put back; -1: a FIFO, where it is free at once */
	int pipe[2]; /**< what the command inherits; -1: a FIFO */
	char folder[PATH_MAX - 8], path[PATH_MAX]; /**< of the FIFO; empty: a pipe */
};

/** -1: no such style. */
int tokens_style(const char *word);
/** Whether MAKEFLAGS names a jobserver already. */
bool tokens_there(void);
/** Makes a pipe or FIFO for this command, without a token. 0, or an exit code after a message. */
int tokens_make(struct tokens *t, enum tokens_style style, char **command);
/** In the command's process: MAKEFLAGS, and an argument -j of make without a number is left out, which
 *  would be more important than the jobserver. 0, or an exit code after a message. */
int tokens_enter(const struct tokens *t, char **command);
/** In the keeper's process: what only the command needs is closed. */
void tokens_keep(struct tokens *t);
/** Tokens that nobody has taken. */
unsigned int tokens_free(const struct tokens *t);
/** Tokens that were put back, and are not free yet. */
unsigned int tokens_back(const struct tokens *t);
/** Puts tokens in, or, if negative, takes out as many of them as there are. Returns how many. */
int tokens_change(const struct tokens *t, int change);
/** Closes it, and removes the FIFO. */
void tokens_end(struct tokens *t);

#endif
