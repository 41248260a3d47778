// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages to stderr, with the prefixes of sd-daemon(3) when a journal reads them. */

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/clean.h"

#define LOG_LINE 1024

/* Of the process, as stderr is. */
static struct log_levels log_levels = { .all = LOG_LEVEL_INFO, .most = LOG_LEVEL_INFO };

void log_set_levels(const struct log_levels *levels)
{
	log_levels = *levels;
}

void log_message(enum log_level level, const char *file, const char *format, ...)
{
	static const char *const names[] = { "error", "warning", "info", "debug" };
	static const char *const journal[] = { "<3>", "<4>", "<6>", "<7>" };
	char line[LOG_LINE], clean[LOG_LINE], when[32];
	va_list args;
	size_t at;
	int n;

	if (level > log_levels.most || level > log_levels_of(&log_levels, file))
		return;
	if (getenv("JOURNAL_STREAM")) {
		at = snprintf(line, sizeof(line), "%s", journal[level]);
	} else {
		at = snprintf(line, sizeof(line), "%s %s: ", clock_text(clock_wall_ms(), when),
			      names[level]);
	}
	va_start(args, format);
	n = vsnprintf(line + at, sizeof(line) - at, format, args);
	va_end(args);
	if (n < 0)
		line[at] = '\0';
	/* it may contain what peers and users sent: keep it on one line */
	clean_text(clean, sizeof(clean) - 1, line);
	at = strlen(clean);
	clean[at++] = '\n';
	/* one write, so that it does not mix with lines of guests on the same stderr */
	if (write(STDERR_FILENO, clean, at) < 0)
		return;
}

bool log_allowed(struct log_limit *limit)
{
	const int64_t ms = (int64_t)clock_ms();

	if (!limit->start || ms - limit->start > LOG_PERIOD_MS) {
		if (limit->count > LOG_BURST)
			log_warning("%u messages like the following one were suppressed",
				    limit->count - LOG_BURST);
		limit->start = ms;
		limit->count = 0;
	}
	return ++limit->count <= LOG_BURST;
}
