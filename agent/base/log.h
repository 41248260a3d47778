/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file log.h
 * What of log.c only few need; the messages themselves are in agent.h.
 */
#ifndef AGENT_BASE_LOG_H
#define AGENT_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#define LOG_BURST 20
#define LOG_PERIOD_MS 10000

/** Bounds messages that a stranger can cause: LOG_BURST in LOG_PERIOD_MS. */
struct log_limit {
	int64_t start;
	unsigned int count;
};

bool log_allowed(struct log_limit *limit);
void log_set_level(int level); /**< enum log_level */

#endif
