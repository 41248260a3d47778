// SPDX-License-Identifier: GPL-2.0-or-later
#include "progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "command.h"

double progress_seconds(int clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

double progress_now(void)
{
	return progress_seconds(CLOCK_MONOTONIC);
}

void progress_show(const char *what, uint64_t done, uint64_t all)
{
	static double last;
	double now = progress_now();

	if (!isatty(STDERR_FILENO) || (done < all && now - last < 0.2))
		return;
	last = now;
	if (done < all)
		fprintf(stderr, "\rehctl %s: %s, %3.0f %%\033[K", command_name, what,
			100.0 * (double)done / (double)all);
	else
		fprintf(stderr, "\r\033[K");
}
