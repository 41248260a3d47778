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

/** Events of the stub's socket. 0 or -ENOMEM. */
int stub_open(struct handoff *h);
void stub_close(struct handoff *h);
/** A frame to the stub; -EPIPE: it has gone. */
int stub_tell(struct handoff *h, enum frame_type type, const void *payload, uint32_t length);
/** The same, with at most 3 descriptors; they stay open here. */
int stub_give(struct handoff *h, enum frame_type type, const void *payload, uint32_t length,
	      const int *fds, unsigned int nfds);
/** It stops by handoff.stop, once it is known what it has read of its terminal. */
void stub_stop(struct handoff *h);
/** Whether any stub is away: then stops of theirs are looked for. 0 or -ENOMEM. */
int stub_watch(struct agent *agent, bool any);

#endif
