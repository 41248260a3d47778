/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file copies.h  Copies of what can be read from a descriptor, which leave it as it is. */
#ifndef EHSTUB_COPIES_H
#define EHSTUB_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "descriptor.h"
#include "job/end.h"

/** Bytes of copies that the program has not read: a window, behind an answer. A question for more waits. */
#define COPIES_MAX (JOB_WINDOW + JOB_DATA_MAX)

struct copies {
	int fd; /**< of the source */
	enum kind kind;
	uint64_t copied, taken; /**< bytes sent, bytes taken out of the source */
	off_t first; /**< offset of a file at the start */
	int pipe[2], null, events; /**< our own pipe, /dev/null, epoll; -1: none */
	int size; /**< of the source, if it is a pipe: as it was before the copies; 0: it is not copied */
	size_t peeked; /**< bytes in our own pipe: copied, and not sent yet */
	size_t least; /**< that are read from it: what does not fit of a packet (O_DIRECT) is gone */
};

#define COPIES_NONE                                          \
	{                                                    \
		.pipe = { -1, -1 }, .null = -1, .events = -1 \
	}

/** Prepares copies of this source. False: they are not possible. */
bool copies_open(struct copies *c, int fd, enum kind kind);
/** Copies what follows the copies that were made. Bytes, 0: end, or -errno. */
ssize_t copies_make(struct copies *c, uint8_t *to, size_t room);
void copies_take(struct copies *c, uint64_t n); /**< takes bytes out of the source */
/** More of a pipe may be on the way, as the program reads it. */
void copies_widen(struct copies *c);
void copies_close(struct copies *c);

#endif
