/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file seen.h
 * What an end of a job has seen of its program and directory, with the rights of the user, and tells its
 * agent: the payload of FRAME_SEEN. A user whose process tells something else deceives nobody but
 * himself: it is about his own task. No I/O.
 */
#ifndef WIRE_SEEN_H
#define WIRE_SEEN_H

#include <stddef.h>
#include <stdint.h>

#include "look.h"

#define SEEN_SIZE 72u /**< bytes that seen_encode() writes */

struct seen {
	uint32_t
		error; /**< errno, EAGAIN where a file system would have to be asked; 0: what follows is valid */
	struct look_program program;
	struct look_folder folder; /**< `shared` and the times are not told */
};

void seen_encode(const struct seen *s, uint8_t out[SEEN_SIZE]);
/** Returns 0 or -EBADMSG. Fields of a newer version, behind those that are known, are ignored. */
int seen_decode(struct seen *s, const uint8_t *in, size_t length);

#endif
