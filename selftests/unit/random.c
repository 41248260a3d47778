// SPDX-License-Identifier: GPL-2.0-or-later
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t random_state;

void random_begin(void)
{
	const char *wish = getenv("EHS_SEED");
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	random_state = wish ? strtoull(wish, NULL, 0) : (uint64_t)now.tv_sec ^ now.tv_nsec;
	printf("# EHS_SEED=%llu\n", (unsigned long long)random_state);
}

uint64_t random_64(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint64_t random_below(uint64_t n)
{
	return random_64() % n;
}

bool random_one_in(unsigned int n)
{
	return !random_below(n);
}

double random_between(double low, double high)
{
	return low + (high - low) * (double)random_below(1 << 30) / (1 << 30);
}
