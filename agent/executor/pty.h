/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file pty.h
 * The pseudo-terminal of a guest whose task has a terminal at home. The home's
 * line discipline is the one that works (echo, editing, ^C): this one passes
 * bytes (EXTPROC) and tells of mode changes (packet mode).
 */
#ifndef AGENT_EXECUTOR_PTY_H
#define AGENT_EXECUTOR_PTY_H

#include "executor/launch.h"
#include "job/channel.h"
#include "wire/terminal.h"

struct pty {
	struct channel *channel;
	struct launch *launch;
	struct relay_source out; /**< fd: the master */
	int master; /**< until pty_start(); -1: none, or the source has it */
	int slave; /**< asked for its content; held open until the task has ended; -1: none */
	bool given, typing; /**< the guest has a terminal; as its standard input */
	struct terminal known; /**< as home has it, or was told */
	uint32_t late; /**< bytes of output after which a change is told; 0: none is to be told */
	bool flush; /**< and that typed input was dropped */
	bool our_flush; /**< by us: not to be told */
	bool raw; /**< the task has set a mode that is not line by line */
	bool readable; /**< home has offered input */
	bool wanted; /**< and was asked for it */
	unsigned int wait_ms, waited_ms;
	struct event again;
	uint64_t typed; /**< bytes that have come, an end of file counts as one */
	uint32_t last; /**< of them, those of the last TYPED; 0: none of it is left */
};

void pty_init(struct pty *p, struct event_base *base, struct channel *c, struct launch *l);
/** 0 or -errno. What is open then is closed by pty_close(). */
int pty_open(struct pty *p, const struct job_spec *spec);
void pty_start(struct pty *p); /**< the task runs: from here on its output is read */
/** A frame for it. 0 or -EPROTO. */
int pty_frame(struct pty *p, enum frame_type type, const uint8_t *payload, uint32_t length);
/** To the foreground group, as a terminal does. */
void pty_signal(struct pty *p, int sig);
void pty_tell_taken(struct pty *p); /**< sends FRAME_TAKEN */
void pty_exited(struct pty *p); /**< the task has ended; children may go on writing */
void pty_hangup(struct pty *p); /**< home's terminal is gone */
void pty_close(struct pty *p);

#endif
