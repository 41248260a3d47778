/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file one_end.h
 * The world around one end of a job: an agent that says anything, others at the far ends of its descriptors,
 * and a clock that moves only while the end waits. Each time that it does, the input has one step of them; when
 * there are no more all of them go, and the end must come to its own.
 */
#ifndef FUZZ_ONE_END_H
#define FUZZ_ONE_END_H

#include <stdbool.h>
#include <stdint.h>

#include "link_input.h"

#define ONE_END_FARS 8

struct one_end {
	struct input in;
	bool on; /**< the end runs; without it poll() is the system's */
	bool over; /**< nothing more comes */
	bool listens; /**< the agent: it can be connected to */
	int64_t now, over_ms;
	int agent; /**< its end of the connection; -1: none */
	int far[ONE_END_FARS], nfar; /**< -1: closed */
	unsigned int polls;
	uint8_t flags; /**< of the last step of the clock */

	/* of one_end_play() */
	const struct job_end *end;
	bool (*step)(uint8_t what);
	void (*check)(void);
};

extern struct one_end world;

/** All descriptors that are opened from now on are closed by one_end_done(), and 0 to 2 are as before. */
void one_end_begin(const uint8_t *data, size_t size);
void one_end_done(void);
/**
 * The end runs from now on, until `world.on` is false again. end: so that what is said can be right; step: a step of the
 * target's own, false if only time has passed; check: what holds whenever the end waits.
 */
void one_end_play(const struct job_end *end, bool (*step)(uint8_t what), void (*check)(void));
/** The agent's end of a new connection is world.agent. Returns the other. */
int one_end_connect(void);
/** Adds a far end, which does not block. */
void one_end_far(int fd);
/** Our end of a new pipe, or pair of sockets; a far end has the other. */
int one_end_near(bool socket, bool reads);
/** Our end of a new terminal, or -1. */
int one_end_terminal(void);
/** A file. */
int one_end_file(void);

#endif
