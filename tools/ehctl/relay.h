/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file relay.h
 * The process between the makes of a build and their tokens. Make puts a token back into one pipe and takes
 * the next from another one: what is put back the relay hands on, unless the build owes tokens. A FIFO is
 * both pipes in one: there it only tries to be faster than a make which waits. It does nothing
 * else, so that no token waits for the keeper, and it stays when the keeper is killed.
 */
#ifndef EHCTL_RELAY_H
#define EHCTL_RELAY_H

#include <sys/types.h>

#include "tokens.h"

struct relay_shared;

struct relay {
	struct relay_shared *shared;
	pid_t process; /**< 0: none */
	bool over; /**< it has ended, as nobody has the pipe any more */
	int control; /**< ends with the keeper; a byte: there is something new in `shared` */
	int owed; /**< as far as the keeper knows */
};

/** Starts it for these tokens. 0, or -errno. */
int relay_start(struct relay *r, const struct tokens *t);
/** Starts it again if it has ended. */
void relay_check(struct relay *r, const struct tokens *t);
/** How many it has kept since the last call: tokens that no longer exist. */
unsigned int relay_kept(struct relay *r);
/** From now on it is to keep this many. Only after relay_kept(). */
void relay_owe(struct relay *r, unsigned int tokens);
/** The keeper takes out this many of those itself, or as many as there are. Returns how many. */
unsigned int relay_reserve(struct relay *r, unsigned int tokens);
/** The build has ended: waits until what was put back is handed on. */
void relay_settle(struct relay *r, const struct tokens *t);
/** The keeper ends. The relay goes on as long as a process can put back tokens. */
void relay_end(struct relay *r, const struct tokens *t);

#endif
