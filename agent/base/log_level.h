/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file log_level.h
 * How much is logged: a level for all messages, and levels for areas. An area is a room (a
 * directory of agent/) or a subject of several rooms, such as "placement". Pure.
 */
#ifndef AGENT_BASE_LOG_LEVEL_H
#define AGENT_BASE_LOG_LEVEL_H

#include <stdbool.h>
#include <stddef.h>

#define LOG_WORDS_MAX 16
#define LOG_AREA_FILES 6

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

struct log_area {
	const char *name;
	const char *files[LOG_AREA_FILES]; /**< how their paths below agent/ begin */
};
extern const struct log_area log_areas[]; /**< ends with a name of NULL */

struct log_levels {
	enum log_level all;
	enum log_level most; /**< the highest of all: a message above it needs no look-up */
	size_t nwords;
	struct {
		enum log_level level;
		const struct log_area *area;
	} words[LOG_WORDS_MAX]; /**< the last one that fits counts */
};

/**
 * Reads "info debug:placement error:net": a level for all (info if none is given), and LEVEL:AREA.
 * False, with the reason in @why, if @text is invalid.
 */
bool log_levels_parse(const char *text, struct log_levels *levels, char *why, size_t size);

/** The level for messages of a source file, a path as in __FILE__. */
enum log_level log_levels_of(const struct log_levels *levels, const char *file);

#endif
