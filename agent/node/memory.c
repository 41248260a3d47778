// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /proc tells of the whole machine. A node that is a container has less: then `memory` names the
 * directory of its cgroup (2, or the memory controller's of 1), and the smaller of both is left.
 */
#include "node/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/process.h"
#include "node/cgroup.h"

#define MEMORY_PROC "/proc"
#define MEMORY_HALF_MS 60000
#define MEMORY_USED_MS 1000

struct memory {
	double used; /* of memory_used() */
	uint64_t used_at; /* clock_ms(); 0: never */
	LIST_HEAD(, memory_claim) claims;
};

/* ---- files ---- */

static FILE *memory_open(const char *directory, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", directory, name) < (int)sizeof(path)
		       ? fopen(path, "re")
		       : NULL;
}

/* The number behind a word that begins a line; behind "" that of the first one. False: there is none. */
static bool memory_number(const char *directory, const char *name, const char *word, uint64_t *out)
{
	FILE *f = memory_open(directory, name);
	bool found = false;
	char line[256];

	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, word, strlen(word)) &&
			sscanf(line + strlen(word), "%" SCNu64, out) == 1;
	if (f)
		fclose(f);
	return found;
}

static double memory_waits(const char *directory, const char *name)
{
	FILE *f = memory_open(directory, name);
	double some = 0;

	if (!f)
		return 0;
	if (fscanf(f, "some avg10=%lf", &some) != 1)
		some = 0;
	fclose(f);
	return some;
}

/* Files that are cached can be dropped. */
static uint64_t memory_cached(const char *directory, const char *const words[2])
{
	uint64_t sum = 0, one;

	for (int i = 0; i < 2; i++)
		if (memory_number(directory, "memory.stat", words[i], &one))
			sum += one;
	return sum;
}

/* False: not the directory of a cgroup, or one without limit. */
static bool memory_of_cgroup(const char *directory, struct memory_state *out)
{
	static const char *const files[][2] = { { "memory.max", "memory.current" },
						{ "memory.limit_in_bytes",
						  "memory.usage_in_bytes" } };
	static const char *const caches[][2] = { { "inactive_file ", "active_file " },
						 { "total_inactive_file ", "total_active_file " } };
	uint64_t used, cached;

	for (int i = 0; i < 2; i++) {
		if (!memory_number(directory, files[i][0], "", &out->all) ||
		    !memory_number(directory, files[i][1], "", &used))
			continue;
		cached = memory_cached(directory, caches[i]);
		used = used > cached ? used - cached : 0;
		out->left = out->all > used ? out->all - used : 0;
		return true;
	}
	return false;
}

static bool memory_of_machine(const char *directory, struct memory_state *out)
{
	if (!memory_number(directory, "meminfo", "MemAvailable:", &out->left))
		return false;
	memory_number(directory, "meminfo", "MemTotal:", &out->all);
	out->left <<= 10;
	out->all <<= 10;
	return true;
}

void memory_look(const struct agent *agent, struct memory_state *out)
{
	const char *directory = agent->config->memory;
	struct memory_state of_cgroup = { 0 };

	*out = (struct memory_state){ 0 };
	if (memory_of_machine(directory, out)) {
		out->waits = memory_waits(directory, "pressure/memory");
		return;
	}
	memory_of_machine(MEMORY_PROC, out);
	if (memory_of_cgroup(directory, &of_cgroup) && of_cgroup.left < out->left)
		*out = of_cgroup;
	out->waits = memory_waits(directory, "memory.pressure");
}

/* Each report of the node has it, and files are not to be read for each. */
double memory_used(struct agent *agent)
{
	struct memory *m = agent->memory;
	struct memory_state now;

	if (m->used_at && clock_ms() - m->used_at < MEMORY_USED_MS)
		return m->used;
	memory_look(agent, &now);
	m->used = now.left && now.all >= now.left ? 1 - (double)now.left / (double)now.all : -1;
	m->used_at = clock_ms();
	return m->used;
}

uint64_t memory_kills(const struct agent *agent)
{
	static const char *const files[] = { "vmstat", "memory.events", "memory.oom_control" };
	uint64_t kills = 0;

	for (int i = 0; i < 3; i++)
		if (memory_number(agent->config->memory, files[i], "oom_kill ", &kills))
			break;
	return kills;
}

/* ---- what tasks are expected to take ---- */

void memory_claim(struct agent *agent, struct memory_claim *c)
{
	c->began = clock_ms();
	LIST_INSERT_HEAD(&agent->memory->claims, c, link);
}

void memory_unclaim(struct memory_claim *c)
{
	if (!c->began)
		return;
	LIST_REMOVE(c, link);
	c->began = 0;
}

static uint64_t memory_has(struct agent *agent, const struct memory_claim *c)
{
	struct process now;
	int64_t memory;
	double cpu;

	/* Of all its processes, where it has a cgroup with that controller. */
	if (c->guest && cgroup_guest_fd(agent) >= 0 &&
	    !cgroup_guest_usage(agent, c->guest, &cpu, &memory) && memory >= 0)
		return memory;
	return c->pid > 0 && !process_look(c->pid, &now) && now.memory > 0 ? now.memory : 0;
}

/* What one task is expected to take yet. */
static uint64_t memory_claimed(struct agent *agent, struct memory_claim *c)
{
	const uint64_t halves = c->began ? (clock_ms() - c->began) / MEMORY_HALF_MS : 0;
	const uint64_t has = c->peak ? memory_has(agent, c) : 0;

	if (has > c->seen)
		c->seen = has;
	return c->peak > c->seen && halves < 64 ? (c->peak - c->seen) >> halves : 0;
}

uint64_t memory_expected(struct agent *agent)
{
	struct memory_claim *c;
	uint64_t sum = 0;

	/* Each is below 2^60, so this many of them are no overflow. */
	LIST_FOREACH(c, &agent->memory->claims, link) {
		sum += memory_claimed(agent, c);
		if (sum > UINT64_MAX / 4)
			return UINT64_MAX / 4;
	}
	return sum;
}

/* ---- start ---- */

int memory_init(struct agent *agent)
{
	agent->memory = calloc(1, sizeof(*agent->memory));
	return agent->memory ? 0 : -ENOMEM;
}

void memory_exit(struct agent *agent)
{
	free(agent->memory);
	agent->memory = NULL;
}
