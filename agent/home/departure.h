/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file departure.h
 * The departure of a task: its job gets what only the agent knows, is placed if it is not yet, and
 * is sent.
 */
#ifndef AGENT_HOME_DEPARTURE_H
#define AGENT_HOME_DEPARTURE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct agent;

/** A stub has connected and sent this job; takes over the socket and the descriptors (-1: closed at home). */
void departure_start(struct agent *agent, int socket, const uint8_t *job, size_t length, int fds[3],
		     pid_t pid, uid_t uid, gid_t gid);

#endif
