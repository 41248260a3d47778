/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file tokens.h
 * The account of a build's tokens (the jobserver of GNU make): bytes in a pipe, one for each job that
 * may run besides the first. A make that starts a job takes one, and puts it back when the job has ended.
 * The keeper sees how many are free, not who has the others. It makes tokens and takes free ones
 * back, so that there are as many as there should be; those that somebody put in twice are
 * taken out, and those that were taken by a process which is dead are made again. Pure.
 */
#ifndef EH_TOKENS_H
#define EH_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

#define EH_TOKENS_LOOKS 16 /**< in a row that must miss a token before it is lost */
#define EH_TOKENS_UNKNOWN UINT32_MAX /**< nobody can say how many the processes may have */

struct eh_tokens {
	unsigned int made; /**< tokens that there are, free and taken */
	unsigned int should; /**< that there should be */
	unsigned int peak; /**< most that were taken lately */
	bool dry; /**< none was free at a look since the last ask */
	unsigned int missing, misses; /**< that cannot be with anybody, and in how many looks */
	uint64_t lost, doubled; /**< found so far, and put right */
};

/** A look at the pipe: this many are free, and processes that live may have `held` of the others.
 *  Returns how many to put in, or, negative, to take out. */
int eh_tokens_look(struct eh_tokens *t, unsigned int free, unsigned int held);
/** So many were really put in, or, negative, taken out. */
void eh_tokens_done(struct eh_tokens *t, int done);
/** How many there are too many, also with jobs. */
unsigned int eh_tokens_owed(const struct eh_tokens *t);
/** How many slots the build wants, its first one included; also ends the time that `peak` and
 *  `dry` are about. */
unsigned int eh_tokens_wants(struct eh_tokens *t);
/** Slots were granted, the first one included. */
void eh_tokens_granted(struct eh_tokens *t, unsigned int slots);

#endif
