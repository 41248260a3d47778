/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file guest.h
 * The executor's end of one job: parent of the program, holder of the other ends of its descriptors,
 * and leader of its session. It runs as the user, with the limits of the program. Its agent started
 * it, but it outlives that agent. One loop, in which nothing waits but poll().
 *
 * All signals are blocked. Signal sets are plain 64-bit words and the calls are the kernel's own:
 * musl keeps signals 32-34 for itself, but a program may use 34 (glibc's SIGRTMIN).
 */
#ifndef EHGUEST_GUEST_H
#define EHGUEST_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "end/hop.h"
#include "job/end.h"
#include "wire/attach.h"
#include "wire/job.h"

#include "flow.h"
#include "program.h"
#include "pty.h"

#define GUEST_NEVER INT64_MAX
#define GUEST_OUTS 2

struct guest {
	int64_t now; /**< milliseconds; the clock stands still in suspend */
	int signals; /**< signalfd, of SIGCHLD */
	uint32_t flags; /**< of struct job_spec */
	struct program program;
	struct intake in; /**< descriptor 0, if it is a pipe */
	struct outlet out[GUEST_OUTS]; /**< descriptors 1 and 2, if they are pipes */
	struct pty pty;

	/* connection.c */
	bool begun; /**< `end` and `attached` are valid */
	bool blocked; /**< the socket takes no more bytes now */
	struct attached attached;
	uint64_t started_ms; /**< since 1970 */
	char command[ATTACH_COMMAND];
	int64_t retry_at, pause_ms; /**< without an agent */
	enum note_what notes[8]; /**< to be sent */
	unsigned int nnotes;

	/* ending.c */
	bool ended; /**< the program */
	bool noted; /**< the agent knows that */
	int64_t noted_by; /**< it is not waited for longer */
	struct frame_exit use;

	struct hop hop;
	struct job_end end;
	int64_t trim_at; /**< memory that is not needed is given back then */
	uint8_t memory[JOB_MEMORY];
};

/* ---- main.c ---- */

/** Whether messages can be said now. If not: again after an acknowledgement. */
bool guest_can_say(const struct guest *g);
/** After guest_can_say(); or what it says is dropped, for the job is lost. */
void guest_say(struct guest *g, const struct job_message *m);
/** Nothing has started, and nothing will. `error`: errno or 0. */
void guest_refuse(struct guest *g, int error, const char *what);
/** The program runs, or children of it do: data can be said. */
bool guest_writes(const struct guest *g);

/* ---- connection.c ---- */

/** Takes what the agent has sent. */
void connection_read(struct guest *g);
/** Sends what there is to send. */
void connection_write(struct guest *g);
/** Connects to a new agent when it is time to. */
void connection_tick(struct guest *g);
/** Tells the agent, if there is one. */
void connection_note(struct guest *g, enum note_what what);
extern const struct job_end_ops connection_ops;

/* ---- ending.c ---- */

/** The program has ended. */
void ending_begin(struct guest *g);
/** Says JOB_EXIT and JOB_OVER as soon as nothing must precede them. */
void ending_step(struct guest *g);

/* ---- kill.c ---- */

/** Kills the program and all of its descendants. */
void kill_all(struct guest *g);

#endif
