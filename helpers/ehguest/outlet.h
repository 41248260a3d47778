/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file outlet.h  A pipe, or a pair of sockets, that the program writes to. */
#ifndef EHGUEST_OUTLET_H
#define EHGUEST_OUTLET_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "helpers/end/session.h"

struct outlet {
	struct session *session;
	int fd; /**< -1: none, or closed */
	bool socket; /**< of a pair: an intake has our end, too */
	ino_t inode; /**< of the program's socket then */
	uint32_t channel;
	bool ready; /**< poll() said so */
	bool exited; /**< the program has ended: an end is told at once */
	int64_t end_at; /**< nobody writes any more: home is told then; SESSION_NEVER */
	uint64_t sent, owed; /**< bytes; `sent` when all from before the exit is sent */
};

/** Events to wait for; fd -1: none. */
struct pollfd outlet_poll(const struct outlet *o);
/** Sends home what the program has written. */
void outlet_step(struct outlet *o);
/** When outlet_step() has something to do by the clock. */
int64_t outlet_end_at(const struct outlet *o);
/** Closes it; the program's next write raises SIGPIPE. */
void outlet_close(struct outlet *o);
/** The program has ended: what is in the pipe now precedes the exit. */
void outlet_exited(struct outlet *o);
/** Whether the program's socket is there, though a direction of it is at its end. */
bool pair_is_shut(ino_t inode);

#endif
