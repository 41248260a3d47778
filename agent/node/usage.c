// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The load daemon's average of paper 1. Of the whole machine by default; a node that is a container
 * names a file of its cgroup instead, because /proc/stat tells of all containers together.
 */

#include "node/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"

#define USAGE_EACH_US 500000
#define USAGE_SAMPLES 21 /* ten seconds between the first and the last */
#define USAGE_LEAST 3 /* one second */

/* Processor time that was used, and that there was; their unit is that of the file. */
struct usage_sample {
	double busy, all;
};

struct usage {
	int fd; /* stays open: it must be readable when descriptors run out */
	uint64_t at;
	unsigned int count, next;
	struct usage_sample samples[USAGE_SAMPLES];
	double before; /* the gang that was here came; until there are new samples */
};

/* cpu.stat of cgroup 2, or cpuacct.usage of cgroup 1. The capacity is what there is of it. */
static int usage_of_cgroup(const struct agent *agent, const char *text, uint64_t now,
			   struct usage_sample *out)
{
	uint64_t used;
	char end;

	out->all = (double)now * agent->config->capacity / 1000.0;
	if (sscanf(text, "usage_usec %" SCNu64, &used) == 1)
		out->busy = (double)used;
	else if (sscanf(text, "%" SCNu64 "%c", &used, &end) == 2 && end == '\n')
		out->busy = (double)used / 1000.0;
	else
		return -EINVAL;
	return 0;
}

static int usage_read(const struct agent *agent, uint64_t now, struct usage_sample *out)
{
	unsigned long long user, nice, system, idle, wait, irq, soft, steal;
	char text[256];
	ssize_t n = pread(agent->usage->fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
		   &idle, &wait, &irq, &soft, &steal) != 8)
		return usage_of_cgroup(agent, text, now, out);
	out->busy = (double)(user + nice + system + irq + soft);
	out->all = out->busy + (double)(idle + wait + steal);
	return 0;
}

void usage_sample(struct agent *agent)
{
	struct usage *u = agent->usage;
	uint64_t now = clock_us();

	if ((u->count && now - u->at < USAGE_EACH_US) ||
	    usage_read(agent, now, &u->samples[u->next]))
		return;
	u->at = now;
	u->next = (u->next + 1) % USAGE_SAMPLES;
	u->count += u->count < USAGE_SAMPLES;
}

double usage_get(const struct agent *agent)
{
	const struct usage *u = agent->usage;
	const struct usage_sample *last, *first;
	double eta;

	if (u->count < USAGE_LEAST)
		return u->before;
	last = &u->samples[(u->next + USAGE_SAMPLES - 1) % USAGE_SAMPLES];
	first = &u->samples[(u->next + USAGE_SAMPLES - u->count) % USAGE_SAMPLES];
	if (!(last->all > first->all) || last->busy < first->busy)
		return 0;
	eta = (last->busy - first->busy) / (last->all - first->all);
	return eta < 1 ? eta : 1;
}

void usage_gang_comes(struct agent *agent)
{
	agent->usage->before = usage_get(agent);
}

void usage_gang_ended(struct agent *agent)
{
	agent->usage->count = 0;
	usage_sample(agent);
}

int usage_init(struct agent *agent)
{
	const char *path = agent->config->usage;
	struct usage_sample first;
	int err;

	agent->usage = calloc(1, sizeof(*agent->usage));
	if (!agent->usage)
		return -ENOMEM;
	agent->usage->fd = open(path, O_RDONLY | O_CLOEXEC);
	err = agent->usage->fd < 0 ? -errno : usage_read(agent, clock_us(), &first);
	if (err) {
		log_error("usage: %s: %s", path,
			  err == -EINVAL
				  ? "neither /proc/stat nor cpu.stat or cpuacct.usage of a cgroup"
				  : strerror(-err));
		return err;
	}
	usage_sample(agent);
	return 0;
}

void usage_exit(struct agent *agent)
{
	if (!agent->usage)
		return;
	if (agent->usage->fd >= 0)
		close(agent->usage->fd);
	free(agent->usage);
	agent->usage = NULL;
}
