/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file pty.h
 * The pseudo-terminal of a guest whose task has a terminal at home. Home's line discipline does the
 * work (echo, editing, ^C); this one passes bytes (EXTPROC) and reports changes of modes (packet
 * mode).
 */
#ifndef AGENT_EXECUTOR_PTY_H
#define AGENT_EXECUTOR_PTY_H

#include "executor/launch.h"
#include "job/channel.h"
#include "wire/terminal.h"

struct pty {
	struct channel *channel;
	struct launch *launch;
	struct relay_source out; /**< its fd is the master */
	int master; /**< until pty_start(); -1: none, or moved to `out` */
	int slave; /**< tells what is unread; open until the task has ended; -1: none */
	bool given, typing; /**< the guest has a terminal; it is its standard input */
	struct terminal known; /**< what home has or was told */
	uint32_t late; /**< bytes of output to pass before a change is sent; 0: none waits */
	uint8_t status; /**< of packet mode, read but not handled yet; 0: none */
	bool flush; /**< tell home too that typed input was dropped */
	bool our_flush; /**< dropped by us, so home is not told */
	bool raw; /**< the task has left canonical mode */
	bool readable; /**< home has offered input */
	bool wanted; /**< we have asked for it */
	unsigned int wait_ms, waited_ms;
	struct event again;
	uint64_t typed; /**< bytes received; an end of file counts as one */
	uint32_t last; /**< bytes of the last FRAME_TYPED; 0: all gone */
};

void pty_init(struct pty *p, struct event_base *base, struct channel *c, struct launch *l);
/** Opens the terminal. 0 or -errno; even then pty_close() must follow. */
int pty_open(struct pty *p, const struct job_spec *spec);
void pty_start(struct pty *p); /**< the task runs: starts to read its output */
/** Handles a frame of the terminal. 0 or -EPROTO. */
int pty_frame(struct pty *p, enum frame_type type, const uint8_t *payload, uint32_t length);
/** Signals the foreground group, as a terminal does. */
void pty_signal(struct pty *p, int sig);
void pty_tell_taken(struct pty *p); /**< sends FRAME_TAKEN */
void pty_exited(struct pty *p); /**< the task has ended; children may still write */
void pty_hangup(struct pty *p); /**< home's terminal is gone */
void pty_close(struct pty *p);

#endif
