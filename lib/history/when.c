// SPDX-License-Identifier: GPL-2.0-or-later
#include "when.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define WHEN_MAX 253402300799 /* the year 9999 */

/* "2h": a number of units ago. */
static int when_ago(const char *text, time_t now, time_t *out)
{
	static const struct {
		char name;
		unsigned int seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };
	unsigned long long n;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	n = strtoull(text, &end, 10);
	for (size_t i = 0; !errno && i < sizeof(units) / sizeof(*units); i++) {
		if (*end != units[i].name || end[1])
			continue;
		if (n > WHEN_MAX / units[i].seconds)
			break;
		*out = now - (time_t)(n * units[i].seconds);
		return 0;
	}
	return -EINVAL;
}

static int when_since_1970(const char *text, time_t *out)
{
	unsigned long long n;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || *end || n > WHEN_MAX)
		return -EINVAL;
	*out = n;
	return 0;
}

static int when_midnight(time_t now, int days, time_t *out)
{
	struct tm tm;

	if (!localtime_r(&now, &tm))
		return -EINVAL;
	tm.tm_mday += days;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	*out = mktime(&tm);
	return 0;
}

/* mktime() would make the 2nd of March of the 30th of February. */
static bool when_exists(const struct tm *given, const struct tm *made)
{
	return given->tm_mday == made->tm_mday && given->tm_mon == made->tm_mon &&
	       given->tm_year == made->tm_year;
}

static int when_date(const char *text, time_t now, time_t *out)
{
	static const char *const forms[] = { "%Y-%m-%d",	  "%Y-%m-%d %H:%M",
					     "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M",
					     "%Y-%m-%dT%H:%M:%S", "%H:%M",
					     "%H:%M:%S" };
	const char *end;

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct tm tm, given;
		bool utc;

		if (!(forms[i][1] == 'H' ? localtime_r(&now, &tm) : memset(&tm, 0, sizeof(tm))))
			return -EINVAL;
		tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
		end = strptime(text, forms[i], &tm);
		utc = end && *end == 'Z';
		if (!end || end[utc])
			continue;
		tm.tm_isdst = utc ? 0 : -1;
		given = tm;
		*out = utc ? timegm(&tm) : mktime(&tm);
		return when_exists(&given, &tm) ? 0 : -EINVAL;
	}
	return -EINVAL;
}

int when_parse(const char *text, time_t now, time_t *out)
{
	if (!strcmp(text, "now")) {
		*out = now;
		return 0;
	}
	if (!strcmp(text, "today"))
		return when_midnight(now, 0, out);
	if (!strcmp(text, "yesterday"))
		return when_midnight(now, -1, out);
	if (*text == '@')
		return when_since_1970(text + 1, out);
	return when_ago(text, now, out) ? when_date(text, now, out) : 0;
}
