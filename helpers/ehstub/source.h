/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file source.h  What the task reads from descriptor 0, if it is not a terminal, or from another one. */
#ifndef EHSTUB_SOURCE_H
#define EHSTUB_SOURCE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copies.h"
#include "descriptor.h"
#include "helpers/end/session.h"
#include "opens.h"
#include "witness.h"

enum feed {
	FEED_NONE, /**< nothing can be read, or will be */
	FEED_IDLE, /**< nothing is offered */
	FEED_OFFERED, /**< JOB_OFFER was said */
	FEED_AHEAD, /**< copies flow; what the program reads is taken out */
};

#define SOURCE_GIVEN 64

/** Descriptor 0, if it is not a terminal, or another one that the task reads. */
struct source {
	struct session *session;
	struct opens *opens;
	const struct witness *witness; /**< is no other reader */
	int fd; /**< -1: none, or closed */
	uint32_t channel;
	bool tokens; /**< of make's jobserver: what the task has not read goes back */
	uint8_t given[SOURCE_GIVEN]; /**< of these, the last bytes in answers */
	enum feed feed;
	enum kind kind;
	bool hangs; /**< a pipe without a name: when its writers have gone none comes again */
	bool ready; /**< poll() has seen something since the last read */
	bool ended; /**< JOB_END must be said, or was */
	bool told; /**< it was */
	bool looked, able; /**< for other readers, and there were none; it can be copied ahead */
	int64_t again_at; /**< look for them again, if there were some */
	bool pair; /**< a pair of sockets is there, which does not show how much of a part was read */
	uint32_t asked; /**< bytes in answers, and what a question is worth */
	int64_t look_at; /**< look for more then; SESSION_NEVER */
	int look_ms; /**< and after that; 0: wait for events */
	struct copies copies;
	bool used; /**< something was taken out of it, which cannot be put back */
};

void source_init(struct source *from, uint32_t channel, struct session *session,
		 struct opens *opens, const struct witness *witness);
void source_use(struct source *from, int fd); /**< reads this descriptor */
void source_step(struct source *from);
void source_look(struct source *from); /**< if it is time */
bool source_wants(const struct source *from, struct pollfd *p); /**< whether to poll it, and how */
void source_on_poll(struct source *from, short events);
/** The program has read so much of the copies. */
void source_read(struct source *from, uint64_t total);
void source_close(struct source *from);
void source_shut(const struct source *from); /**< this direction of a socket */
void source_give_back(struct source *from); /**< tokens that were given and not read */
int source_again(struct source *from); /**< for a second run. 0; -errno: not possible */

#endif
