// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tsc-khz   print the rate of this machine's time stamp counter
 *
 * Emulated guests see it, and calibrate it while they boot against an emulated
 * timer: on a busy machine that has come out thirty times too slow, and the
 * guest's clock ran an hour ahead within three minutes.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct reading {
	uint64_t ticks, ns;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Both at one time: of some tries the one that took the least, so that nothing came between. */
static struct reading read_both(void)
{
	struct reading best = { 0, 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 100; i++) {
		uint64_t before = __rdtsc(), ns = now_ns(), after = __rdtsc();

		if (after - before < least) {
			least = after - before;
			best = (struct reading){ before + least / 2, ns };
		}
	}
	return best;
}

int main(void)
{
	const struct timespec while_ = { 0, 100000000 };
	struct reading from = read_both(), to;

	nanosleep(&while_, NULL);
	to = read_both();
	printf("%.0f\n", (to.ticks - from.ticks) * 1e6 / (to.ns - from.ns));
	return 0;
}
