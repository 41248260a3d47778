/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file backoff.h  Pauses between tries, each twice as long as the one before. */
#ifndef JOB_BACKOFF_H
#define JOB_BACKOFF_H

#include <stdint.h>

/** The pause after one of `ms` (0: none yet): `first`, then twice as long up to `most`. */
static inline uint32_t backoff_next(uint32_t ms, uint32_t first, uint32_t most)
{
	if (!ms)
		return first;
	return ms < most / 2 ? 2 * ms : most;
}

#endif
