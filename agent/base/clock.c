// SPDX-License-Identifier: GPL-2.0-or-later
/* Time and the boot's identity. */

#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <event2/event.h>

uint64_t clock_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ULL + now.tv_nsec / 1000;
}

uint64_t clock_ms(void)
{
	return clock_us() / 1000;
}

uint64_t clock_ticks(void)
{
	const uint64_t second = sysconf(_SC_CLK_TCK);
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * second + now.tv_nsec * second / 1000000000;
}

int64_t clock_wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

int clock_arm(struct event *event, uint64_t ms)
{
	return event_add(event, &(const struct timeval){ ms / 1000, ms % 1000 * 1000 });
}

char *clock_text(int64_t wall_ms, char out[32])
{
	time_t seconds = wall_ms / 1000;
	struct tm tm;
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(out, 32, "%FT%T", &tm);
	snprintf(out + n, 32 - n, ".%03dZ", (int)(wall_ms % 1000));
	return out;
}

double clock_elapsed(int64_t wall_ms)
{
	int64_t ms = clock_wall_ms() - wall_ms;

	return ms > 0 ? (double)ms / 1000 : 0;
}

const char *clock_boot_id(void)
{
	static char id[40]; /* of the process: all agents have one kernel */
	FILE *in;

	if (*id)
		return id;
	in = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (!in)
		return "";
	if (!fgets(id, sizeof(id), in))
		*id = '\0';
	fclose(in);
	id[strcspn(id, "\n")] = '\0';
	return id;
}
