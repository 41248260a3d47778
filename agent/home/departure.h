/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file departure.h
 * Sends a task away: completes its job with what only the agent knows, places it if that is not
 * done yet, and sends it.
 */
#ifndef AGENT_HOME_DEPARTURE_H
#define AGENT_HOME_DEPARTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "wire/seen.h"

struct agent;

/** A stub that has connected, and what it has sent. */
struct departure {
	int socket;
	uint8_t *job; /**< payload of FRAME_JOB */
	size_t length;
	uint8_t *named; /**< payload of FRAME_NAMED; NULL: its arguments name no files */
	size_t named_length;
	bool has_seen;
	struct seen seen; /**< of FRAME_SEEN, if there was one */
	struct ucred who;
	uint64_t came; /**< when it connected: clock_ticks() */
};

/** Takes over the socket, `job` and `named`. */
void departure_start(struct agent *agent, const struct departure *d);

#endif
