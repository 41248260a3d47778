/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file sink.h  What the task writes to descriptors 1 and 2, its terminal, and others. */
#ifndef EHSTUB_SINK_H
#define EHSTUB_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "descriptor.h"
#include "helpers/end/session.h"
#include "opens.h"

/** A descriptor, or the terminal, that is written with data from the other end. */
struct sink {
	struct session *session;
	struct opens *opens;
	int fd; /**< -1: closed or broken, data are dropped */
	enum kind kind;
	uint32_t channel;
	bool end; /**< close it when all is written */
	bool shut; /**< and shut this direction down before, as others may have the socket */
	int64_t end_at; /**< not before; 0: at once */
	bool broken; /**< nobody reads it any more: JOB_CLOSED must be said */
	uint8_t *held; /**< ring of JOB_WINDOW bytes; NULL: none, and nothing waits */
	size_t from, length; /**< the part of it that waits */
	size_t before; /**< of these, until its owner has something to do; 0: nothing */
	uint64_t done; /**< bytes written or dropped */
	uint64_t exit_at; /**< `done` when all from before the exit is written */
};

/** What becomes of one that the task has closed by ending. */
enum sink_ends {
	SINK_ENDS_WAIT,
	SINK_ENDS_NOW,
	SINK_ENDS_NOT, /**< it stays open for another run */
};

void sink_init(struct sink *k, uint32_t channel, struct session *session, struct opens *opens);
void sink_use(struct sink *k, int fd); /**< writes to this descriptor */
void sink_put(struct sink *k, const uint8_t *data, size_t n);
void sink_did(struct sink *k, size_t n); /**< so much of what came is written or dropped */
void sink_end(struct sink *k, bool shut, int64_t at); /**< nothing more comes; at: see `end_at` */
void sink_on_poll(struct sink *k, short events);
void sink_step(struct sink *k); /**< says what must be said */
void sink_settle_end(struct sink *k, enum sink_ends ends);
void sink_break(struct sink *k); /**< closes it, as nobody reads it any more */
void sink_spare(struct sink *k); /**< gives memory back in which nothing waits */

#endif
