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
#define USAGE_SPAN_US 10000000
#define USAGE_LEAST_US 1000000
#define USAGE_SAMPLES 21 /* USAGE_SPAN_US between the first and the last */

/* Processor time that was used, and that there was; their unit is that of the file. */
struct usage_sample {
	double busy, all;
	uint64_t at; /* us */
	uint64_t free_us; /* until then without a gang */
};

struct usage {
	int fd; /* stays open: it must be readable when descriptors run out */
	unsigned int gangs; /* that are here */
	struct usage_sample file; /* as it was read last */
	struct usage_sample now; /* as the file would be if time stood still while gangs are here */
	unsigned int count, next;
	struct usage_sample samples[USAGE_SAMPLES]; /* of `now` */
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

/* `back` 1: the last one that was kept. */
static const struct usage_sample *usage_kept(const struct usage *u, unsigned int back)
{
	return &u->samples[(u->next + USAGE_SAMPLES - back) % USAGE_SAMPLES];
}

static void usage_keep(struct usage *u)
{
	u->samples[u->next] = u->now;
	u->next = (u->next + 1) % USAGE_SAMPLES;
	u->count += u->count < USAGE_SAMPLES;
}

/* Adds what was used since the last time, unless a gang was here. */
static void usage_advance(struct agent *agent)
{
	struct usage *u = agent->usage;
	struct usage_sample file = { .at = clock_us() };

	if (usage_read(agent, file.at, &file))
		return;
	if (!u->gangs) {
		u->now.busy += file.busy - u->file.busy;
		u->now.all += file.all - u->file.all;
		u->now.free_us += file.at - u->file.at;
	}
	u->now.at = file.at;
	u->file = file;
	if (u->now.free_us - usage_kept(u, 1)->free_us >= USAGE_EACH_US)
		usage_keep(u);
}

void usage_sample(struct agent *agent)
{
	if (clock_us() - agent->usage->file.at >= USAGE_EACH_US)
		usage_advance(agent);
}

/* Over ten seconds, less those with gangs; over one without them at least, however long ago. */
double usage_get(const struct agent *agent)
{
	const struct usage *u = agent->usage;
	const struct usage_sample *last = &u->now, *first = last;
	double eta;

	for (unsigned int back = 1; back <= u->count; back++) {
		first = usage_kept(u, back);
		if (last->at - first->at >= USAGE_SPAN_US &&
		    last->free_us - first->free_us >= USAGE_LEAST_US)
			break;
	}
	if (last->free_us - first->free_us < USAGE_LEAST_US || !(last->all > first->all) ||
	    last->busy < first->busy)
		return 0;
	eta = (last->busy - first->busy) / (last->all - first->all);
	return eta < 1 ? eta : 1;
}

void usage_gang_comes(struct agent *agent)
{
	usage_advance(agent);
	agent->usage->gangs++;
}

void usage_gang_ended(struct agent *agent)
{
	usage_advance(agent);
	agent->usage->gangs--;
}

int usage_init(struct agent *agent)
{
	const char *path = agent->config->usage;
	struct usage *u;
	int err;

	agent->usage = u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->fd = open(path, O_RDONLY | O_CLOEXEC);
	u->file.at = clock_us();
	err = u->fd < 0 ? -errno : usage_read(agent, u->file.at, &u->file);
	if (err) {
		log_error("usage: %s: %s", path,
			  err == -EINVAL
				  ? "neither /proc/stat nor cpu.stat or cpuacct.usage of a cgroup"
				  : strerror(-err));
		return err;
	}
	u->now.at = u->file.at;
	usage_keep(u);
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
