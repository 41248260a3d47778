/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file terminal.h  The controlling terminal, whether or not one of descriptors 0-2 is it. */
#ifndef EHSTUB_TERMINAL_H
#define EHSTUB_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "helpers/end/session.h"
#include "sink.h"
#include "source.h"
#include "wire/terminal.h"

#define TERMINAL_LINE 4096 /**< bytes of the longest line of a terminal */

struct tty {
	struct session *session;
	struct sink *out; /**< -1 is its descriptor before the task runs, and when it is hung up */
	int fd; /**< -1: none. Our own open file, once the task runs, or if it is none of 0-2 */
	enum feed feed;
	bool ready; /**< input */
	bool foreground; /**< our process group is in the foreground, as the other end was told */
	bool orphaned; /**< we cannot be stopped: the task is not told of the background */
	struct terminal first, last; /**< modes at the start; modes that the task has set */
	bool changed; /**< the task has changed the modes */
	/** `last` must be set, behind `before` bytes of `out`; input must be dropped */
	bool pending, flush;
	bool tell, tell_flush; /**< JOB_TERMINAL must be said */
	bool kept; /**< `typed` is the last input that was sent, not known to be read */
	uint32_t typed_length; /**< 0: end of file */
	uint64_t sent, taken; /**< bytes sent, and read by the task; an end of file counts as one */
	uint8_t typed[TERMINAL_LINE];
};

int terminal_get(int fd, struct terminal *t); /**< 0 or -errno */
void terminal_open(struct tty *t); /**< the task runs */
bool terminal_is_hung(const struct tty *t); /**< as of terminal_open() */
void terminal_look(struct tty *t); /**< whether the foreground has changed, while the task runs */
void terminal_step(struct tty *t, bool runs); /**< says what must be said */
void terminal_change(struct tty *t, const struct job_message *m);
void terminal_settle(struct tty *t); /**< sets pending modes if it may do so now */
void terminal_restore(struct tty *t); /**< to those from before the task */
void terminal_show(struct tty *t, const uint8_t *data, size_t n);
void terminal_hangup(struct tty *t);
/** Answers what the task reads, while it runs. `stopped`: its stub is about to stop, and reads nothing more. */
void terminal_read_step(struct tty *t, bool stopped);
/** Puts input back that the task has not read. Whether there was any. */
bool terminal_give_back(struct tty *t);

#endif
