// SPDX-License-Identifier: GPL-2.0-or-later
#include "ended.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client.h"
#include "tools/common/common.h"

double ended_seconds(const char *text)
{
	int year, month, day, hour, minute;
	double second;
	struct tm tm;

	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%lf", &year, &month, &day, &hour, &minute, &second) !=
	    6)
		return -1;
	tm = (struct tm){ .tm_year = year - 1900,
			  .tm_mon = month - 1,
			  .tm_mday = day,
			  .tm_hour = hour,
			  .tm_min = minute };
	return (double)timegm(&tm) + second;
}

static double ended_to_ms(double seconds)
{
	return (double)(json_int_t)(1000 * seconds + (seconds < 0 ? -0.5 : 0.5)) / 1000;
}

double ended_between(const char *from, const char *to)
{
	return ended_to_ms(ended_seconds(to) - ended_seconds(from));
}

double ended_since(const char *from)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return ended_to_ms((double)now.tv_sec + (double)now.tv_nsec / 1e9 - ended_seconds(from));
}

const char *ended_moment(const char *text, char out[ENDED_TEXT])
{
	const double seconds = ended_seconds(text);
	const time_t at = (time_t)seconds;
	const char *rest = strchr(text, '.');
	struct tm tm;
	size_t n;

	if (seconds < 0 || !localtime_r(&at, &tm))
		return text;
	n = strftime(out, ENDED_TEXT, "%F %T", &tm);
	if (rest)
		snprintf(out + n, ENDED_TEXT - n, "%.*s", (int)strcspn(rest, "Z"), rest);
	return out;
}

const char *ended_clock(const char *text, char out[ENDED_TEXT])
{
	const double seconds = ended_seconds(text);
	time_t now = time(NULL), at = (time_t)seconds;
	struct tm tm, today;

	if (seconds < 0)
		return "-";
	localtime_r(&at, &tm);
	localtime_r(&now, &today);
	strftime(out, ENDED_TEXT,
		 tm.tm_yday == today.tm_yday && tm.tm_year == today.tm_year ? "%H:%M:%S"
		 : tm.tm_year == today.tm_year				    ? "%m-%d %H:%M"
									    : "%Y-%m-%d",
		 &tm);
	return out;
}

const char *ended_how(const json_t *task, char out[ENDED_TEXT])
{
	const json_t *code = json_object_get(task, "exit"), *sig = json_object_get(task, "signal");
	const char *state = text_of(task, "state");

	if (!strcmp(state, "lost") || !(json_is_integer(code) || json_is_integer(sig)))
		/* The agent knows of one that ran here only that it has ended. */
		return strcmp(state, "ended") ? state : "-";
	if (json_is_integer(code))
		return integer_of(task, "exit");
	snprintf(out, ENDED_TEXT, "SIG%s", sigabbrev_np((int)json_integer_value(sig)) ?: "?");
	return out;
}
