/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file terminal.h
 * Home's terminal of a task that is away. The agent is not in the terminal's session, so job
 * control does not stop its calls. It acts for the task, and only while the stub's process group is
 * in the foreground.
 */
#ifndef AGENT_HOME_TERMINAL_H
#define AGENT_HOME_TERMINAL_H

#include <stdbool.h>
#include "job/relay.h"
#include "wire/terminal.h"

struct terminal_home {
	bool given; /**< the task has a terminal */
	bool typing; /**< as its standard input */
	bool foreground; /**< the stub's group is in the foreground */
	bool asked; /**< the task waits for input */
	struct terminal first, last; /**< modes at the start; modes that the task has set */
	bool changed; /**< the task has changed the modes */
	/** `last` must be set when sink.done reaches ready_at; input must be dropped */
	bool pending, flush;
	uint64_t ready_at;
	uint8_t *typed; /**< the last input that was sent, until it is all read; NULL: none */
	uint32_t typed_length; /**< 0: end of file */
	uint64_t sent, taken; /**< bytes sent, and read by the task; an end of file counts as one */
};

/** Opens the terminal again for `sink`. Takes over `fd`. */
void terminal_open(struct relay_sink *sink, int fd);
/** Handles FRAME_TERMINAL from the executor. 0 or -EPROTO. */
int terminal_on_change(struct terminal_home *t, struct relay_sink *sink, const uint8_t *payload,
		       uint32_t length);
/** Sets pending modes if it may do so now. */
void terminal_settle(struct terminal_home *t, struct relay_sink *sink);
/** Handles FRAME_SHOWN. 0, -EPROTO or -ENOMEM. */
int terminal_show(struct terminal_home *t, struct relay_sink *sink, uint8_t *data, size_t length);
/** Encodes the current modes and size for the executor. False: they cannot be read. */
bool terminal_look(const struct relay_sink *sink, uint8_t out[TERMINAL_SIZE]);
/** Handles FRAME_TYPED from the stub. 0 or -ENOMEM. */
int terminal_typed(struct terminal_home *t, const uint8_t *payload, uint32_t length);
/** Puts unread input back into the terminal. Returns whether there was any. */
bool terminal_give_back(struct terminal_home *t, const struct relay_sink *sink);
/** The task was killed or lost: restores the modes from before it. */
void terminal_restore(struct terminal_home *t, const struct relay_sink *sink);

#endif
