/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file departure.h
 * Sends a task away: completes its job with what only the agent knows, places it if that is not
 * done yet, and sends it.
 */
#ifndef AGENT_HOME_DEPARTURE_H
#define AGENT_HOME_DEPARTURE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct agent;

/** A stub has connected and sent this job. Takes over the socket; `job` is borrowed. */
void departure_start(struct agent *agent, int socket, const uint8_t *job, size_t length, pid_t pid,
		     uid_t uid, gid_t gid);

#endif
