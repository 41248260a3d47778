// SPDX-License-Identifier: GPL-2.0-or-later
/* The first parts of a load: they measure its workers, and how the cost of its units differs. */
#include <math.h>
#include <stdlib.h>

#include "divide_run.h"

#define PROBE_PART 50 /* the first parts are this fraction of the load */
#define SMALL 2 /* the second part of a worker over its first one */
#define LONG 2 /* the third one over the second one, at least */
#define LONG_STARTS 4 /* and it takes so many times what starting it does */
#define LONG_PART 10 /* but is not a larger fraction of the load, with those of all others */
#define PLACES_PART 5 /* this fraction of the load is at other places */
#define START_LEAST 1e-6 /* seconds: a probe may say that there is none */
#define PLACES_TIME 0.06 /* starting commands there may take this part of the time of all */

/* ---- what is known ---- */

/* Seconds that the units of a part took. */
static double took(const struct divide_run *run, const struct divide_part *p)
{
	double time = p->finish - p->start;

	return fmax(time - divide_run_startup(run, p->worker) - run->workers[p->worker].fixed,
		    time / 100);
}

/* The shortest time that a part of so many units took the worker; 0: it has done none. The machine
 * may have stood still during one of them, and the first one may have loaded files. */
static double quickest(const struct divide_run *run, uint32_t worker, uint64_t count)
{
	double least = 0;

	for (uint32_t i = 0; i < run->nparts; i++) {
		const struct divide_part *p = &run->parts[i];

		if (p->state != DIVIDE_DONE || !p->probe || p->worker != worker ||
		    p->count != count)
			continue;
		least = least > 0 ? fmin(least, took(run, p)) : took(run, p);
	}
	return least;
}

/* What parts of `few` and of `many` units have in common. That is measured on all workers: the
 * units of one may differ by chance. */
static void learn_fixed(struct divide_run *run, uint64_t few, uint64_t many)
{
	double time = 0, more = 0, unit, part;

	for (uint32_t w = 0; w < run->nworkers; w++) {
		double least, longer;

		run->workers[w].fixed = 0;
		least = quickest(run, w, few);
		longer = quickest(run, w, many);
		if (!(least > 0 && longer > 0))
			continue;
		time += least;
		more += longer;
	}
	unit = (more - time) / (double)(many - few);
	part = time > 0 ? 1 - unit * (double)few / time : 0;
	part = fmax(0, fmin(part, 0.9));
	for (uint32_t w = 0; w < run->nworkers; w++)
		run->workers[w].fixed = part * quickest(run, w, few);
}

/* First the costs of units at places other than the first, then the speeds of workers. */
static void learn(struct divide_run *run)
{
	double bytes = 0, units = 0, slowest = DIVIDE_UNIT_LEAST;
	double time[1 + DIVIDE_PLACES_MOST] = { 0 }, planned[1 + DIVIDE_PLACES_MOST] = { 0 };

	for (uint32_t i = 0; i < run->nparts; i++) {
		const struct divide_part *p = &run->parts[i];

		if (p->state != DIVIDE_DONE)
			continue;
		bytes += p->bytes;
		units += (double)p->count;
		if (p->place == DIVIDE_NO_PLACE)
			continue;
		time[p->place] += took(run, p);
		planned[p->place] += run->workers[p->worker].unit * (double)p->count;
	}
	for (uint32_t i = 1; i < run->nplaces; i++)
		if (planned[i] > 0)
			run->places[i].cost = time[i] / planned[i];
	for (uint32_t w = 0; w < run->nworkers; w++) {
		double all = 0, cost = 0;

		for (uint32_t i = 0; i < run->nparts; i++) {
			const struct divide_part *p = &run->parts[i];

			if (p->state != DIVIDE_DONE || p->place == DIVIDE_NO_PLACE ||
			    p->worker != w)
				continue;
			all += took(run, p);
			cost += (double)p->count * run->places[p->place].cost;
		}
		run->workers[w].unit = cost > 0 ? all / cost : 0;
		slowest = fmax(slowest, run->workers[w].unit);
	}
	/* those whose first part others took over */
	for (uint32_t w = 0; w < run->nworkers; w++)
		if (!(run->workers[w].unit > 0))
			run->workers[w].unit = slowest;
	run->result = units > 0 ? bytes / units : 0;
}

/* ---- the first parts ---- */

static int add_place(struct divide_run *run, uint64_t first, uint64_t count)
{
	struct divide_units *more = reallocarray(run->places, run->nplaces + 1, sizeof(*more));

	if (!more)
		return fail(EXIT_REFUSED, "no memory for a place");
	run->places = more;
	more[run->nplaces++] = (struct divide_units){ first, count, 1 };
	return 0;
}

static int add_first(struct divide_run *run, uint32_t worker, uint64_t *at, uint64_t count,
		     uint32_t place)
{
	const struct divide_part part = { .first = *at,
					  .count = count,
					  .cost = (double)count,
					  .worker = worker,
					  .place = place,
					  .probe = true };

	*at += count;
	return divide_run_add(run, &part) < 0 ? fail(EXIT_REFUSED, "no memory for a part") : 0;
}

/* Of the workers that are left. */
static double mean_start(const struct divide_run *run)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t w = 0; w < run->nworkers; w++) {
		if (run->workers[w].lost)
			continue;
		sum += divide_run_seconds(run, w, 0);
		n++;
	}
	return n ? sum / n : 0;
}

/* Units of all workers in a second. */
static double speed_of(const struct divide_run *run)
{
	double speed = 0;

	for (uint32_t w = 0; w < run->nworkers; w++)
		if (!run->workers[w].lost)
			speed += 1 / run->workers[w].unit;
	return speed;
}

/* A part of the middle for each worker, run to its end. */
static int probe_all(struct divide_run *run, uint64_t count, uint32_t place)
{
	struct divide_units *middle = &run->places[0];
	uint64_t at = middle->first + middle->count;
	int code = 0;

	for (uint32_t w = 0; w < run->nworkers && !code; w++)
		if (!run->workers[w].lost)
			code = add_first(run, w, &at, count, place);
	middle->count = at - middle->first;
	return code ? code : divide_run_all(run);
}

/* Where starting the command takes most of the time, longer parts; without room for them, it is
 * at least measured twice. */
static int probe_longer(struct divide_run *run, uint64_t few, uint64_t many)
{
	uint64_t most = run->size / LONG_PART / run->nworkers, longer;
	double wanted;
	int code;

	learn_fixed(run, few, many);
	learn(run);
	wanted = LONG_STARTS * mean_start(run) * speed_of(run) / run->nworkers;
	if (wanted <= (double)many)
		return 0;
	if (most < LONG * many) {
		code = probe_all(run, few, DIVIDE_NO_PLACE);
		if (!code)
			learn_fixed(run, few, many);
		return code;
	}
	longer = (uint64_t)fmin(fmax(wanted, (double)(LONG * many)), (double)most);
	code = probe_all(run, longer, 0);
	if (!code)
		learn_fixed(run, many, longer);
	return code;
}

/* In the middle of the load each worker has a small part, which may load files, and a longer one. */
static int probe_middle(struct divide_run *run)
{
	uint64_t n = run->nworkers, count = run->probe, small, least;
	int code;

	if (!count) {
		least = (SMALL + 1) * n <= run->size / 16 ? SMALL : 1;
		count = run->size / PROBE_PART / n * SMALL / (SMALL + 1);
		count = count > least ? count : least;
	}
	count = count < run->size / 2 / n ? count : run->size / 2 / n;
	small = count + count / SMALL <= run->size / 4 / n ? count / SMALL : 0;
	code = add_place(run, run->size / 2 - (count + small) * n, 0);
	if (!code && small)
		code = probe_all(run, small, DIVIDE_NO_PLACE);
	if (!code)
		code = probe_all(run, count, 0);
	return !code && small ? probe_longer(run, small, count) : code;
}

static bool overlap(const struct divide_units *place, uint64_t at, uint64_t count)
{
	return at < place->first + place->count && place->first < at + count;
}

/* At equal distances a part of one worker each: its speed is known. Workers take turns. */
static int probe_others(struct divide_run *run)
{
	double speed = speed_of(run), size = (double)run->size;
	double starts = size / speed * PLACES_TIME / fmax(mean_start(run), START_LEAST);
	uint64_t turns = (uint64_t)fmin(starts, DIVIDE_PLACES_MOST);
	uint64_t n = turns * run->nworkers;
	int code = 0;

	n = n < DIVIDE_PLACES_MOST ? n : DIVIDE_PLACES_MOST;
	turns = (n + run->nworkers - 1) / run->nworkers;
	for (uint64_t i = 0; i < n && !code; i++) {
		uint32_t w = (uint32_t)((i + i / run->nworkers) % run->nworkers);
		double share = 1 / run->workers[w].unit / speed;
		uint64_t count = (uint64_t)(size / PLACES_PART / (double)turns * share);
		uint64_t at, most = run->size / (2 * n);

		/* much faster ones would have more than there is between two places */
		count = count < most ? count : most;
		at = most * (2 * i + 1) - count / 2;
		if (!count || run->workers[w].lost || overlap(&run->places[0], at, count))
			continue;
		code = add_place(run, at, count);
		if (!code)
			code = add_first(run, w, &at, count, run->nplaces - 1);
	}
	return code ? code : divide_run_all(run);
}

int divide_probe(struct divide_run *run)
{
	int code = probe_middle(run);

	if (!code) {
		learn(run);
		code = probe_others(run);
	}
	learn(run);
	return code;
}
