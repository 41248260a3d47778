/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file bytes.h
 * Bytes in both directions between two ends, each delivered once and in order over connections that
 * may break and be replaced: the frames of link.h, all of one type. It carries a view of home's files
 * (helpers/common/stream.c). No I/O, and nothing but libc; the owner gives the memory.
 */
#ifndef JOB_BYTES_H
#define JOB_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "job/link.h"
#include "wire/frame.h"

#define BYTES_MAX FRAME_DATA_MAX /**< in one frame */
/** Bytes that are on their way, and how many may come after job_link_hold(). */
#define BYTES_MEMORY (384u << 10)
#define BYTES_DATA 1u /**< the type of its frames */

/** Keeps as many of these bytes as there is room for, and sends them. Returns their number. */
size_t job_bytes_put(struct job_link *l, const uint8_t *bytes, size_t n);
/**
 * Takes the payload of a FRAME_LINK. 1: *bytes and *n are the next ones, valid as long as the payload;
 * 0: nothing new; -EPROTO.
 */
int job_bytes_take(struct job_link *l, const uint8_t *payload, size_t length, const uint8_t **bytes,
		   size_t *n);

#endif
