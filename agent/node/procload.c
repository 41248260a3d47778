// SPDX-License-Identifier: GPL-2.0-or-later
/* Load of this machine from /proc, smoothed like the module's. */

#include "node/procload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <linux/ehsched.h>

#include "base/agent.h"
#include "base/clock.h"

/* The module follows a step to 95 % in 220 ms; with samples each 100 ms that is a weight of 3/4. */
#define PROCLOAD_WEIGHT(old, new) (((old) + 3 * (new)) / 4)

struct procload {
	int avg, stat; /* stay open: the load must be readable when descriptors run out */
	uint64_t busy, at;
	uint32_t runnable, cpu;
};

int procload_init(struct agent *agent)
{
	agent->procload = calloc(1, sizeof(*agent->procload));
	if (!agent->procload)
		return -ENOMEM;
	agent->procload->avg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	agent->procload->stat = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	if (agent->procload->avg < 0 || agent->procload->stat < 0)
		return -errno;
	procload_sample(agent);
	return 0;
}

void procload_exit(struct agent *agent)
{
	if (!agent->procload)
		return;
	if (agent->procload->avg >= 0)
		close(agent->procload->avg);
	if (agent->procload->stat >= 0)
		close(agent->procload->stat);
	free(agent->procload);
	agent->procload = NULL;
}

static void procload_sample_runnable(struct agent *agent)
{
	unsigned int running;
	char text[128];
	ssize_t n;

	n = pread(agent->procload->avg, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return;
	text[n] = '\0';
	if (sscanf(text, "%*s %*s %*s %u/", &running) != 1)
		return;
	/* This process runs while it reads. */
	running -= running > 0;
	agent->procload->runnable = PROCLOAD_WEIGHT(agent->procload->runnable, running * 1000);
}

static void procload_sample_cpu(struct agent *agent)
{
	unsigned long long user, nice, system, idle, wait, irq, soft, steal;
	uint64_t busy, now = clock_us(), elapsed = now - agent->procload->at;
	long hz = sysconf(_SC_CLK_TCK);
	char text[256];
	ssize_t n;

	/* The kernel counts in ticks: a shorter time is too inexact. */
	if (agent->procload->at && elapsed < 250000)
		return;
	n = pread(agent->procload->stat, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return;
	text[n] = '\0';
	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
		   &idle, &wait, &irq, &soft, &steal) != 8)
		return;
	busy = (user + nice + system + irq + soft) * (1000000ULL / hz);
	if (agent->procload->at && busy >= agent->procload->busy)
		agent->procload->cpu = PROCLOAD_WEIGHT(
			agent->procload->cpu, (busy - agent->procload->busy) * 1000 / elapsed);
	agent->procload->busy = busy;
	agent->procload->at = now;
}

void procload_sample(struct agent *agent)
{
	procload_sample_runnable(agent);
	procload_sample_cpu(agent);
}

void procload_boost(struct agent *agent, unsigned int tasks)
{
	agent->procload->runnable += tasks * 1000;
}

uint32_t procload_get(struct agent *agent, unsigned int index)
{
	return index == EHS_INDEX_CPU ? agent->procload->cpu : agent->procload->runnable;
}
