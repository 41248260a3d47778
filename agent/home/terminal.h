/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file terminal.h
 * The terminal of a task that is away, at home. The agent is in no session with
 * it, so job control does not stop its calls: what it does there is the
 * task's, and done only while the stub's process group is in the foreground.
 */
#ifndef AGENT_HOME_TERMINAL_H
#define AGENT_HOME_TERMINAL_H

#include <stdbool.h>
#include "job/relay.h"
#include "wire/terminal.h"

struct terminal_home {
	bool given; /**< the task has one */
	bool typing; /**< it is its standard input */
	bool foreground; /**< its stub's group is the terminal's */
	bool asked; /**< the task waits for what is typed */
	struct terminal first, last; /**< as it was at the start; as the task has it now */
	bool changed; /**< by the task */
	bool pending,
		flush; /**< last is to be set, once sink.done is ready_at; input to be dropped */
	uint64_t ready_at;
	uint8_t *typed; /**< the last that was sent, until all of it is read; NULL: none */
	uint32_t typed_length; /**< 0: end of file */
	uint64_t sent,
		taken; /**< bytes in all, an end of file counts as one; of them, read there */
};

/** Opens the terminal anew for `sink`, and closes `fd`. */
void terminal_open(struct relay_sink *sink, int fd);
/** FRAME_TERMINAL from the executor. 0 or -EPROTO. */
int terminal_on_change(struct terminal_home *t, struct relay_sink *sink, const uint8_t *payload,
		       uint32_t length);
/** Sets what is pending, if it may be set now. */
void terminal_settle(struct terminal_home *t, struct relay_sink *sink);
/** FRAME_SHOWN. 0, -EPROTO or -ENOMEM. */
int terminal_show(struct terminal_home *t, struct relay_sink *sink, uint8_t *data, size_t length);
/** As it is now, for the executor; false: it cannot be asked. */
bool terminal_look(const struct relay_sink *sink, uint8_t out[TERMINAL_SIZE]);
/** FRAME_TYPED from the stub. 0 or -ENOMEM. */
int terminal_typed(struct terminal_home *t, const uint8_t *payload, uint32_t length);
/** What was typed and not read goes back. True: there was something. */
bool terminal_give_back(struct terminal_home *t, const struct relay_sink *sink);
/** The task was killed or lost: its modes go. */
void terminal_restore(struct terminal_home *t, const struct relay_sink *sink);

#endif
