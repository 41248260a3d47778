/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file stub.h
 * The stub of a task that is away: its socket, its signals, its stops, its terminal.
 */
#ifndef AGENT_HOME_STUB_H
#define AGENT_HOME_STUB_H

#include <stdbool.h>
#include <stdint.h>
#include "wire/frame.h"

struct agent;
struct handoff;

/** Starts to read the stub's socket. 0 or -ENOMEM. */
int stub_open(struct handoff *h);
void stub_close(struct handoff *h);
/** Sends a frame to the stub. 0, or -EPIPE: it is gone. */
int stub_tell(struct handoff *h, enum frame_type type, const void *payload, uint32_t length);
/** The same with up to 3 descriptors, which the caller keeps. */
int stub_give(struct handoff *h, enum frame_type type, const void *payload, uint32_t length,
	      const int *fds, unsigned int nfds);
/** Stops it with the signal handoff.stop, once it has said what it read from its terminal. */
void stub_stop(struct handoff *h);
/** Starts or ends the check for stopped stubs, which runs while a task is away. 0 or -ENOMEM. */
int stub_watch(struct agent *agent, bool any);

#endif
