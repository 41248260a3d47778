/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file intake.h  A pipe, or a pair of sockets, that the program reads. */
#ifndef EHGUEST_INTAKE_H
#define EHGUEST_INTAKE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "helpers/end/session.h"

struct intake {
	struct session *session;
	uint32_t channel;
	bool socket; /**< of a pair: also an outlet has our end, as a duplicate */
	int fd; /**< the pipe's write end; -1: none, or closed */
	int probe; /**< tells what is unread when `fd` is closed; -1: nothing was unread */
	ino_t inode; /**< of the pipe, or of the program's socket */
	bool offered; /**< home has input, which was not asked for */
	bool ahead; /**< home sends copies within a window */
	bool end; /**< home has no more */
	bool broken; /**< the program has closed it, and home was not told yet */
	bool shut; /**< by shutdown() only */
	bool ready; /**< poll() said that it can be written */
	uint64_t written; /**< bytes, into the pipe */
	uint64_t granted; /**< bytes that were read when credit was given */
	uint64_t read; /**< as last seen */
	uint8_t *held; /**< for what the pipe has no room for; NULL: nothing is held */
	size_t from, to; /**< the part of it that is held */
	int64_t look_at, wait_ms; /**< for a reader, or for progress */
};

/** Events to wait for; fd -1: none. */
struct pollfd intake_poll(const struct intake *in);
void intake_offer(struct intake *in, bool ahead);
/** 0, or -errno: home has sent more than it may, or there is no memory. */
int intake_data(struct intake *in, const uint8_t *bytes, size_t n);
void intake_end(struct intake *in); /**< home says JOB_END */
/** Writes, looks for readers and for progress. */
void intake_step(struct intake *in);
/** Says what was read, exactly. */
void intake_tell(struct intake *in);
void intake_spare(struct intake *in); /**< gives memory back that holds nothing */
/** The program has ended. */
void intake_exited(struct intake *in);

#endif
