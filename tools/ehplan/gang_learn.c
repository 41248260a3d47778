// SPDX-License-Identifier: GPL-2.0-or-later
#define XXH_INLINE_ALL
#include "gang_learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "durations.h"
#include "plan/gang/learn.h"

static uint64_t key_of(const struct gang_learner *l, uint32_t count)
{
	return XXH3_64bits_withSeed(&count, sizeof(count), l->key);
}

json_t *gang_learner_try(uint32_t wanted, uint32_t hosts)
{
	json_t *compute = json_array(), *comm = json_array();

	for (uint32_t p = 1; p <= hosts; p++) {
		json_array_append_new(compute, json_real(0));
		json_array_append_new(comm, json_real(p < wanted ? wanted - p : p - wanted));
	}
	return json_pack("{s:{s:s, s:o, s:o}}", "model", "kind", "table", "compute", compute,
			 "comm", comm);
}

static json_t *by_curve(const struct gang_curve *curve, uint32_t hosts)
{
	json_t *compute = json_array(), *comm = json_array();

	for (uint32_t p = 1; p <= hosts; p++) {
		json_array_append_new(compute, json_real(curve->shared / p));
		json_array_append_new(comm, json_real(curve->fixed + curve->each * p));
	}
	return json_pack("{s:{s:s, s:o, s:o}}", "model", "kind", "table", "compute", compute,
			 "comm", comm);
}

json_t *gang_learner_model(struct gang_learner *l, char **words, uint32_t slots, uint32_t hosts)
{
	struct gang_sample *samples = calloc(hosts, sizeof(*samples));
	struct gang_curve curve;
	size_t n = 0;

	*l = (struct gang_learner){ .durations = durations_open(), .key = slots };
	for (char **word = words; *word; word++)
		l->key = XXH3_64bits_withSeed(*word, strlen(*word) + 1, l->key);
	if (!l->durations || !samples) {
		free(samples);
		return NULL;
	}
	for (uint32_t p = 1; p <= hosts; p++) {
		double seconds = durations_get(l->durations, key_of(l, p));

		if (seconds > 0)
			samples[n++] = (struct gang_sample){ p, seconds };
	}
	l->tries = !gang_learn(samples, n, &curve);
	if (!l->tries)
		l->shared = curve.shared;
	n = n && samples[0].count > 1 ? (samples[0].count + 1) / 2 : hosts;
	free(samples);
	return l->tries ? gang_learner_try((uint32_t)n, hosts) : by_curve(&curve, hosts);
}

void gang_learner_put(struct gang_learner *l, const struct gang_run *run)
{
	double busiest = run->offers[run->chosen[run->count - 1]].utilization;
	double slow = gang_slow(run->problem.slowdown, busiest), idle = run->real / slow;

	/* only what is computed is slowed down */
	if (l->shared > 0)
		idle = fmax(idle, run->real - l->shared / run->count * (slow - 1));
	durations_put(l->durations, key_of(l, run->count), idle);
}

void gang_learner_end(struct gang_learner *l)
{
	if (l->durations)
		durations_close(l->durations);
	l->durations = NULL;
}
