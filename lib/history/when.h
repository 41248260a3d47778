/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file when.h  Points in time as people write them. No clock: the caller says what time it is. */
#ifndef HISTORY_WHEN_H
#define HISTORY_WHEN_H

#include <time.h>

/**
 * Reads a time, in seconds since 1970:
 *   now, today, yesterday              the last two: their midnight
 *   30s 90m 2h 3d 1w                   ago
 *   HH:MM[:SS]                         today
 *   YYYY-MM-DD[ HH:MM[:SS]]            a T may replace the space
 *   @SECONDS                           since 1970
 * Local time; with a Z behind it, UTC. 0 or -EINVAL.
 */
int when_parse(const char *text, time_t now, time_t *out);

#endif
