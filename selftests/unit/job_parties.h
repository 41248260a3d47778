/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two ends of a job are connected with, as a test sees it: of home's the source and the sinks,
 * of the executor's the program. */
#ifndef UNIT_JOB_PARTIES_H
#define UNIT_JOB_PARTIES_H

#include "job_routes.h"

extern struct party_home {
	/* the source: bytes are numbers of their places */
	uint64_t head, made, second;
	uint64_t removed, answered; /* for the program; of that, without copies */
	bool second_reader, ahead_wanted, ahead, source_ended, end_said, offered;
	unsigned int answers, ahead_after;
	uint64_t copied;
	/* sinks */
	uint64_t got[JOB_CHANNELS], backlog[JOB_CHANNELS];
	bool closed[JOB_CHANNELS], over[JOB_CHANNELS];
	unsigned int slow;
	/* messages */
	unsigned int go, signals_said, started, stopped, continued;
	bool ready, refused, ran_here, exit_seen, over_seen;
	struct frame_exit use;
	bool more;
} party_home;

extern struct party_away {
	unsigned int started, ops, children, signals, stopped, continued;
	bool running, stop, dead, killed, exit_said, ended, say_stop, say_continue, may_read, eof;
	size_t reading, writing; /* what the program waits in */
	uint32_t channel;
	uint64_t wrote[JOB_CHANNELS], read, have; /* have: came, of the input */
	bool ends_said[JOB_CHANNELS], closed[JOB_CHANNELS];
	bool ahead, refuse, left;
	uint64_t read_at_stop;
	struct frame_exit use;
	bool more;
} party_away;

extern uint8_t *party_expect, *party_arrived; /* what was taken for the program; what came */

uint8_t party_byte(uint32_t channel, uint64_t at);

/* An end's process has gone: its router sees that, if it is connected. */
void party_leaves(int end);
int party_says(int end, struct job_message m);

/* Not before its time, after GO: nothing but the limits and word of it ends a job. */
void party_check_lost(const struct end *s);

#endif
