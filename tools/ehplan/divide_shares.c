// SPDX-License-Identifier: GPL-2.0-or-later
/* How much each worker gets: the plan of paper 2 with what was measured. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "divide_run.h"
#include "plan/divide/divide.h"

#define PROBE_PART 50 /* the first parts of all workers are this fraction of the load */
#define UNIT_LEAST 1e-12

uint64_t divide_shares_probe(struct divide_run *run)
{
	uint64_t units = run->probe ? run->probe : run->size / PROBE_PART / run->nworkers;
	uint64_t at = 0;

	if (!units)
		units = 1;
	for (uint32_t w = 0; w < run->nworkers && at + units < run->size; w++) {
		const struct divide_part part = {
			.first = at, .count = units, .worker = w, .probe = true
		};

		if (divide_run_add(run, &part) < 0)
			break;
		at += units;
	}
	return at;
}

void divide_shares_learn(struct divide_run *run)
{
	double bytes = 0, units = 0, slowest = UNIT_LEAST;

	for (uint32_t i = 0; i < run->nparts; i++) {
		const struct divide_part *p = &run->parts[i];
		struct divide_worker *w = &run->workers[p->worker];
		double time = p->finish - p->start - run->cluster.hosts[w->host].startup;

		if (p->state != DIVIDE_DONE)
			continue;
		w->unit = fmax(time, (p->finish - p->start) / 100) / (double)p->count;
		slowest = fmax(slowest, w->unit);
		bytes += p->bytes;
		units += (double)p->count;
	}
	/* those whose first part did not fit, or others took over */
	for (uint32_t w = 0; w < run->nworkers; w++)
		if (!(run->workers[w].unit > 0))
			run->workers[w].unit = slowest;
	run->result = units > 0 ? bytes / units : 0;
}

/* The ring: workers that are left, in their order; a link leads to the next one, by way of home. */
static json_t *make_ring(const struct divide_run *run, uint64_t count, const uint32_t *worker,
			 uint32_t n)
{
	json_t *processors = json_array();

	for (uint32_t i = 0; i < n; i++) {
		const struct divide_worker *next = &run->workers[worker[(i + 1) % n]];
		const struct divide_worker *w = &run->workers[worker[i]];
		const struct cluster_host *to = &run->cluster.hosts[next->host];
		const struct cluster_host *from = &run->cluster.hosts[w->host];
		const struct cluster_host *far = to->self ? from : to;
		bool away = !far->self;
		char id[24];

		snprintf(id, sizeof(id), "%u", i);
		json_array_append_new(
			processors,
			json_pack("{s:s, s:f, s:f, s:f}", "id", id, "a", fmax(w->unit, UNIT_LEAST),
				  "s", to->self ? 0 : to->startup, "c",
				  away && far->rate > 0 ? run->data / far->rate : 0.0));
	}
	return json_pack("{s:f, s:s, s:{s:s, s:f, s:f}, s:o}", "work", (double)count, "send",
			 "parallel", "result", "kind", "linear", "m",
			 run->data > 0 ? run->result / run->data : 0.0, "b", 0.0, "processors",
			 processors);
}

/* Whole units: the sums of the shares are rounded. */
static int add_parts(struct divide_run *run, const struct divide_plan *plan, uint64_t first,
		     uint64_t count, const uint32_t *worker, uint32_t n)
{
	double sum = 0, now = divide_run_now(run);
	uint64_t at = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct divide_part part = { .first = first + at, .worker = worker[i] };
		uint64_t end;

		sum += plan->shares[i];
		end = i + 1 == n ? count
				 : (uint64_t)fmin(fmax(round(sum), (double)at), (double)count);
		part.count = end - at;
		at = end;
		if (!part.count)
			continue;
		part.predicted_start = now + plan->compute[i].start;
		part.predicted_finish =
			now + fmax(plan->compute[i].finish,
				   plan->results[i].volume >= 0 ? plan->results[i].finish : 0);
		if (divide_run_add(run, &part) < 0)
			return fail(EXIT_REFUSED, "no memory for a part");
	}
	return 0;
}

static int make_plan(struct divide_run *run, json_t *ring, struct divide_problem *problem,
		     struct divide_plan *plan)
{
	struct plan_refusal refusal = { 0 };
	struct plan_watch watch = { 0 };
	char *text = ring ? json_dumps(ring, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
	char why[256];
	int err = text ? divide_problem_read(problem, text, strlen(text), &refusal) : -ENOMEM;

	free(text);
	if (!err)
		err = divide_plan(plan, problem, &watch);
	if (err)
		return fail(EXIT_REFUSED, "no plan: %s",
			    err == -EINVAL ? refusal.what : strerror(-err));
	if (!divide_check(plan, problem, why, sizeof(why)))
		return fail(EXIT_REFUSED, "the plan is wrong, which is a fault of this program: %s",
			    why);
	return 0;
}

int divide_shares(struct divide_run *run, uint64_t first, uint64_t count, bool first_plan)
{
	uint32_t *worker = calloc(run->nworkers, sizeof(*worker)), n = 0;
	struct divide_problem problem = { 0 };
	struct divide_plan plan = { 0 };
	json_t *ring;
	int code;

	if (!worker)
		return fail(EXIT_REFUSED, "no memory for %u workers", run->nworkers);
	for (uint32_t w = 0; w < run->nworkers; w++)
		if (!run->workers[w].lost)
			worker[n++] = w;
	if (!n) {
		code = fail(EXIT_REFUSED, "no host is left");
		goto out;
	}
	ring = make_ring(run, count, worker, n);
	code = make_plan(run, ring, &problem, &plan);
	json_decref(ring);
	if (!code)
		code = add_parts(run, &plan, first, count, worker, n);
	if (!code && first_plan)
		run->predicted = plan.seconds;
out:
	divide_plan_end(&plan);
	divide_problem_end(&problem);
	free(worker);
	return code;
}
