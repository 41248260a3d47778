// SPDX-License-Identifier: GPL-2.0-or-later
#define XXH_INLINE_ALL
#include "gang_learn.h"

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

static json_t *by_table(const double *seconds, uint32_t hosts)
{
	json_t *compute = json_array();

	for (uint32_t p = 1; p <= hosts; p++)
		json_array_append_new(compute, json_real(seconds[p - 1]));
	return json_pack("{s:{s:s, s:o}}", "model", "kind", "table", "compute", compute);
}

/* The number of hosts that is tried next, when `known` is the only one that was; 0: there is none. */
static uint32_t next_try(uint32_t known, uint32_t hosts, const struct gang_wish *wish)
{
	uint32_t most = wish->most && wish->most < hosts ? (uint32_t)wish->most : hosts;
	uint32_t half = (known + 1) / 2;

	if (known && half != known && half >= wish->least && half <= most)
		return half;
	if (most != known)
		return most;
	return wish->least < known ? (uint32_t)wish->least : 0;
}

/* Those that were measured, into room for `hosts` of them. */
static size_t find_samples(const struct gang_learner *l, uint32_t hosts, struct gang_sample *out)
{
	size_t n = 0;

	for (uint32_t p = 1; p <= hosts; p++) {
		double seconds = durations_get(l->durations, key_of(l, p));

		if (seconds > 0)
			out[n++] = (struct gang_sample){ p, seconds };
	}
	return n;
}

json_t *gang_learner_model(struct gang_learner *l, char **words, uint32_t hosts,
			   const struct gang_wish *wish)
{
	struct gang_sample *samples = calloc(hosts, sizeof(*samples));
	double *seconds = calloc(hosts, sizeof(*seconds));
	json_t *document = NULL;
	uint32_t next = 0;
	size_t n;

	*l = (struct gang_learner){ .durations = durations_open(), .key = wish->slots };
	for (char **word = words; *word; word++)
		l->key = XXH3_64bits_withSeed(*word, strlen(*word) + 1, l->key);
	if (!l->durations || !samples || !seconds)
		goto out;
	n = find_samples(l, hosts, samples);
	if (n < 2)
		next = next_try(n ? samples[0].count : 0, hosts, wish);
	l->tries = next || !gang_learn_table(samples, n, hosts, seconds);
	if (!l->tries) {
		l->least = (samples[0].count + 1) / 2;
		l->most = 2 * samples[n - 1].count;
	}
	document = l->tries ? gang_learner_try(next, hosts) : by_table(seconds, hosts);
out:
	free(samples);
	free(seconds);
	return document;
}

void gang_learner_put(struct gang_learner *l, const struct gang_run *run, double seconds)
{
	double busiest = run->offers[run->chosen[run->count - 1]].utilization;

	if (seconds > 0)
		durations_put(l->durations, key_of(l, run->count),
			      gang_learn_idle(run->problem.slowdown, seconds, busiest));
}

void gang_learner_end(struct gang_learner *l)
{
	if (l->durations)
		durations_close(l->durations);
	l->durations = NULL;
}
