/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file view_again.h  Views that an earlier agent has made. */
#ifndef AGENT_EXECUTOR_VIEW_AGAIN_H
#define AGENT_EXECUTOR_VIEW_AGAIN_H

struct agent;
struct kept;

/** Its keeper has connected to this agent: FRAME_KEPT. Takes over the socket. */
void view_adopt(struct agent *agent, int socket, const struct kept *k);

#endif
