/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file ends.h
 * The ends of jobs and the keepers of views that come to the local socket: each belongs to the part
 * of the agent that takes over its socket.
 */
#ifndef AGENT_CTL_ENDS_H
#define AGENT_CTL_ENDS_H

#include "wire/frame.h"

struct agent;
struct departure;

/** Takes over the socket, `job` and `named`, of one whose first frame was a `type`: its payload is `job`. */
void ends_take(struct agent *agent, enum frame_type type, const struct departure *came);

#endif
