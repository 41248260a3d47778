/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file log.h
 * Messages to stderr, with the prefixes of sd-daemon(3) when a journal reads them.
 */
#ifndef AGENT_BASE_LOG_H
#define AGENT_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include "base/log_level.h"

/** The area follows from `file`: see log_level.h. */
void log_message(enum log_level level, const char *file, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define log_error(...) log_message(LOG_LEVEL_ERROR, __FILE__, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __FILE__, __VA_ARGS__)
#define log_info(...) log_message(LOG_LEVEL_INFO, __FILE__, __VA_ARGS__)
#define log_debug(...) log_message(LOG_LEVEL_DEBUG, __FILE__, __VA_ARGS__)

#define LOG_BURST 20
#define LOG_PERIOD_MS 10000

/** Limits messages that a stranger can cause to LOG_BURST in LOG_PERIOD_MS. */
struct log_limit {
	int64_t start;
	unsigned int count;
};

/** Whether a message may be logged now. Says how many were not when they may be again. */
bool log_allowed(struct log_limit *limit);
/** From now on; they are copied. */
void log_set_levels(const struct log_levels *levels);

#endif
