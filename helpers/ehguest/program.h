/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file program.h
 * The program, from fork to exit.
 */
#ifndef EHGUEST_PROGRAM_H
#define EHGUEST_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/job.h"

struct guest;

struct program {
	pid_t pid; /**< its group has the same number; 0: none, or reaped */
	int control; /**< to the child until its exec; -1: closed */
	bool prepared; /**< the child waits for JOB_GO */
	const char *trouble; /**< why it cannot start; NULL: nothing is known */
	int error; /**< errno of that, or 0 */
	bool reap; /**< children have changed their state */
	bool childless; /**< as of the last look */
	bool stopped; /**< and home was told so */
	bool paused; /**< stopped with the stub, and home was not told */
	bool hide_stop, hide_continue; /**< the next one comes from our own signal */
};

/** Forks a child, which sets itself up and then waits. its: its descriptors 0-2, -1: closed. 0 or
 *  -errno. */
int program_start(struct guest *g, const struct job_spec *spec, const int its[3]);
/** Takes what the child says, and tells home as soon as that is possible. */
void program_step(struct guest *g);
void program_go(struct guest *g);
/** Takes changes of state of all children. */
void program_reap(struct guest *g);
void program_signal(struct guest *g, int sig, bool group);
/** Stops its group, or lets it go on, without a word to home. */
void program_pause(struct guest *g, bool on);

#endif
