/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file program.h  The program, from fork to exit. */
#ifndef EHGUEST_PROGRAM_H
#define EHGUEST_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ending.h"
#include "flow.h"
#include "start.h"

struct program {
	struct session *session;
	struct flow *flow;
	struct start *start;
	struct ending *ending;
	pid_t pid; /**< 0: none, or reaped */
	pid_t group; /**< the number that it had, and its process group has; 0: none */
	bool prepared; /**< all is ready for JOB_GO */
	bool executed;
	struct trouble trouble;
	bool reap; /**< children have changed their state */
	bool childless; /**< as of the last look */
	bool stopped; /**< and home was told so */
	bool pause; /**< its stub is stopped */
	bool paused; /**< stopped with the stub, and home was not told */
	bool hide_stop, hide_continue; /**< the next one comes from our own signal */
	int64_t paused_at;
	int64_t resume_at; /**< it is to go on when all of its group has stopped: the next look */
};

/** Our number outside of the pid namespace that is our own, whose first process we are; 0: we have none. */
extern pid_t program_outside;

/** It cannot start. `error`: errno or 0. */
void program_give_up(struct program *p, int error, const char *what);
/** What can be done before JOB_GO, when *p->start is whole. 0 or -errno. */
int program_prepare(struct program *p);
/** Tells home what there is to tell of its start. */
void program_step(struct program *p);
/** Starts it: it has executed then, or there is trouble. */
void program_go(struct program *p);
/** Takes changes of state of all children. */
void program_reap(struct program *p);
/** Passes on a JOB_SIGNAL. */
void program_signal(struct program *p, const struct job_message *m);
/** Stops its group, or lets it go on, without a word to home. */
void program_pause(struct program *p, bool on);
/** Lets it go on when it is time to. */
void program_tick(struct program *p);

#endif
