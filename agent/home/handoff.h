/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file handoff.h
 * Tasks that are away, at home: the stub has connected, the job goes out.
 */
#ifndef AGENT_HOME_HANDOFF_H
#define AGENT_HOME_HANDOFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct peer;

/** A stub has connected and sent this job; takes over the socket and the descriptors (-1: closed at home). */
void handoff_start(int socket, const uint8_t *job, size_t length, int fds[3], pid_t pid, uid_t uid,
		   gid_t gid);
unsigned int handoff_count(void);
/** Whether a task of this user that sees home's files is at this peer. */
bool handoff_shows_home(const struct peer *to, uid_t uid);

#endif
