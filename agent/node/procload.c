// SPDX-License-Identifier: GPL-2.0-or-later
/* Load of the machine from /proc, smoothed as the module smooths it. */

#include "node/procload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <linux/ehsched.h>

#include "base/clock.h"

/* The module follows a step to 95 % in 220 ms; with our slower samples that is a weight of 3/4. */
#define PROCLOAD_WEIGHT(old, new) (((old) + 3 * (new)) / 4)

static int procload_avg = -1, procload_stat = -1;
static uint64_t procload_busy, procload_at;
static uint32_t procload_runnable, procload_cpu;

int procload_init(void)
{
	/* kept open: a node that has run out of descriptors is one whose load matters */
	procload_avg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	procload_stat = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	if (procload_avg < 0 || procload_stat < 0)
		return -errno;
	procload_sample();
	return 0;
}

void procload_exit(void)
{
	close(procload_avg);
	close(procload_stat);
}

static void procload_sample_runnable(void)
{
	unsigned int running;
	char text[128];
	ssize_t n;

	n = pread(procload_avg, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return;
	text[n] = '\0';
	if (sscanf(text, "%*s %*s %*s %u/", &running) != 1)
		return;
	/* we ourselves run while we read it */
	running -= running > 0;
	procload_runnable = PROCLOAD_WEIGHT(procload_runnable, running * 1000);
}

static void procload_sample_cpu(void)
{
	unsigned long long user, nice, system, idle, wait, irq, soft, steal;
	uint64_t busy, now = clock_us(), elapsed = now - procload_at;
	long hz = sysconf(_SC_CLK_TCK);
	char text[256];
	ssize_t n;

	/* the kernel counts in ticks: a shorter time tells nothing */
	if (procload_at && elapsed < 250000)
		return;
	n = pread(procload_stat, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return;
	text[n] = '\0';
	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
		   &idle, &wait, &irq, &soft, &steal) != 8)
		return;
	busy = (user + nice + system + irq + soft) * (1000000ULL / hz);
	if (procload_at && busy >= procload_busy)
		procload_cpu =
			PROCLOAD_WEIGHT(procload_cpu, (busy - procload_busy) * 1000 / elapsed);
	procload_busy = busy;
	procload_at = now;
}

void procload_sample(void)
{
	procload_sample_runnable();
	procload_sample_cpu();
}

void procload_boost(unsigned int tasks)
{
	procload_runnable += tasks * 1000;
}

uint32_t procload_get(unsigned int index)
{
	return index == EHS_INDEX_CPU ? procload_cpu : procload_runnable;
}
