// SPDX-License-Identifier: GPL-2.0-or-later
/* How much each worker gets: the plan of paper 2 with what was measured. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "divide_run.h"
#include "plan/divide/divide.h"

#define STEPS 4 /* of the cost between two places */
#define TURNS 3 /* parts of a share */
#define TURN_STARTS 10 /* if each takes so many times what starting it does */

/* Seconds that starting a part takes, on its way and by the command itself. */
static double start_of(const struct divide_run *run, uint32_t worker)
{
	return divide_run_seconds(run, worker, 0);
}

/* ---- the plan ---- */

/* One division: of these units, in order, among these workers, in the order of the ring. */
struct division {
	struct divide_units *units;
	uint32_t nunits, gaps; /* not each follows the one before it */
	double count, cost; /* of all */
	uint32_t *worker, n;
	double *more; /* seconds for each unit of cost, for starting parts */
	struct divide_plan plan;
};

/* The ring: workers that are left, in their order; a link leads to the next one, by way of home. */
static json_t *make_ring(const struct divide_run *run, const struct division *d)
{
	json_t *processors = json_array();

	for (uint32_t i = 0; i < d->n; i++) {
		const struct divide_worker *next = &run->workers[d->worker[(i + 1) % d->n]];
		const struct divide_worker *w = &run->workers[d->worker[i]];
		const struct cluster_host *to = &run->cluster.hosts[next->host];
		const struct cluster_host *from = &run->cluster.hosts[w->host];
		const struct cluster_host *far = to->self ? from : to;
		double data = run->data * d->count / d->cost;
		char id[24];

		snprintf(id, sizeof(id), "%u", i);
		json_array_append_new(
			processors,
			json_pack("{s:s, s:f, s:f, s:f}", "id", id, "a",
				  fmax(w->unit, DIVIDE_UNIT_LEAST) + d->more[i], "s",
				  to->self ? 0 : to->startup, "c",
				  !far->self && far->rate > 0 ? data / far->rate : 0.0));
	}
	return json_pack("{s:f, s:s, s:{s:s, s:f, s:f}, s:o}", "work", d->cost, "send", "parallel",
			 "result", "kind", "linear", "m",
			 run->data > 0 ? run->result / run->data : 0.0, "b", 0.0, "processors",
			 processors);
}

static int make_plan(const struct divide_run *run, struct division *d)
{
	struct divide_problem problem = { 0 };
	struct plan_refusal refusal = { 0 };
	struct plan_watch watch = { 0 };
	json_t *ring = make_ring(run, d);
	char *text = ring ? json_dumps(ring, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
	char why[256];
	int code = 0, err;

	err = text ? divide_problem_read(&problem, text, strlen(text), &refusal) : -ENOMEM;
	free(text);
	json_decref(ring);
	if (!err)
		err = divide_plan(&d->plan, &problem, &watch);
	if (err)
		code = fail(EXIT_REFUSED, "no plan: %s",
			    err == -EINVAL ? refusal.what : strerror(-err));
	else if (!divide_check(&d->plan, &problem, why, sizeof(why)))
		code = fail(EXIT_REFUSED, "the plan is wrong, which is a fault of this program: %s",
			    why);
	divide_problem_end(&problem);
	return code;
}

/* The cost of a part that the worker is given: others may help it with those that wait. */
static double turn_of(const struct divide_run *run, const struct division *d, uint32_t worker)
{
	return fmax(d->plan.seconds / TURNS, TURN_STARTS * start_of(run, worker)) /
	       fmax(run->workers[worker].unit, DIVIDE_UNIT_LEAST);
}

/* The ring has no cost of a part, so that of a share is spread over its units: then shares change,
 * and the plan is made again. The start of the first part is on the link. */
static int make_plans(const struct divide_run *run, struct division *d)
{
	int code = make_plan(run, d);

	for (int again = 0; again < 4 && !code; again++) {
		for (uint32_t i = 0; i < d->n; i++) {
			double start = start_of(run, d->worker[i]);
			double turns = d->plan.shares[i] / turn_of(run, d, d->worker[i]);
			double parts = fmax(turns, 1 + (double)d->gaps / d->n);

			if (d->plan.shares[i] > 0)
				d->more[i] =
					(start * parts - divide_run_startup(run, d->worker[i])) /
					d->plan.shares[i];
		}
		divide_plan_end(&d->plan);
		d->plan = (struct divide_plan){ 0 };
		code = make_plan(run, d);
	}
	return code;
}

/* One more part, or more units for the last one, which have to be a turn at most. */
static int add_part(struct divide_run *run, const struct divide_part *part, double turn)
{
	struct divide_part *last = run->nparts ? &run->parts[run->nparts - 1] : NULL;

	if (last && last->state == DIVIDE_WAITS && last->worker == part->worker &&
	    last->first + last->count == part->first && last->cost + part->cost <= turn) {
		last->count += part->count;
		last->cost += part->cost;
		return 0;
	}
	return divide_run_add(run, part) < 0 ? fail(EXIT_REFUSED, "no memory for a part") : 0;
}

/* How many of the units, which are its next ones, the worker takes. */
static uint64_t units_of(const struct divide_run *run, const struct divide_units *units,
			 uint32_t worker, double cost, bool first)
{
	double few = start_of(run, worker) / 2 / run->workers[worker].unit;
	uint64_t count = (uint64_t)fmin(fmax(round(cost / units->cost), 0), (double)units->count);

	/* no part that is small beside what starting it costs */
	if ((double)(units->count - count) * units->cost < few)
		return units->count;
	return (double)count * units->cost < few && !first ? 0 : count;
}

/* Whole units: the sums of the shares are rounded. */
static int add_parts(struct divide_run *run, const struct division *d)
{
	double sum = 0, done = 0;
	uint32_t at = 0;

	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t worker = d->worker[i];
		double turn = turn_of(run, d, worker);
		bool first = true;

		sum += d->plan.shares[i];
		while (at < d->nunits) {
			struct divide_units *units = &d->units[at];
			struct divide_part part = { .first = units->first,
						    .worker = worker,
						    .place = DIVIDE_NO_PLACE };

			part.count = i + 1 == d->n
					     ? units->count
					     : units_of(run, units, worker, sum - done, first);
			if (!part.count)
				break;
			part.count = (uint64_t)fmin((double)part.count,
						    fmax(1, round(turn / units->cost)));
			part.cost = units->cost * (double)part.count;
			if (add_part(run, &part, turn))
				return EXIT_REFUSED;
			first = false;
			done += part.cost;
			units->first += part.count;
			units->count -= part.count;
			at += !units->count;
		}
	}
	return 0;
}

/* When each of the new parts is to begin and to end. The last end. */
static double predict(struct divide_run *run, const struct division *d, uint32_t part)
{
	double now = divide_run_now(run), last = d->plan.seconds;

	for (uint32_t i = 0; i < d->n; i++) {
		double at = d->plan.compute[i].start - divide_run_startup(run, d->worker[i]);

		for (uint32_t k = part; k < run->nparts; k++) {
			struct divide_part *p = &run->parts[k];

			if (p->worker != d->worker[i])
				continue;
			p->predicted_start = now + fmax(at, 0);
			at += divide_run_seconds(run, p->worker, p->cost);
			p->predicted_finish = now + at;
			last = fmax(last, at);
		}
	}
	return last;
}

/* Each worker has its share of the units. `predicted`: seconds, or NULL. */
static int divide(struct divide_run *run, struct divide_units *units, uint32_t nunits,
		  double *predicted)
{
	struct division d = { .units = units, .nunits = nunits };
	uint32_t part = run->nparts;
	double last = 0;
	int code;

	d.worker = calloc(run->nworkers, sizeof(*d.worker));
	d.more = calloc(run->nworkers, sizeof(*d.more));
	if (!d.worker || !d.more) {
		code = fail(EXIT_REFUSED, "no memory for %u workers", run->nworkers);
		goto out;
	}
	for (uint32_t w = 0; w < run->nworkers; w++)
		if (!run->workers[w].lost)
			d.worker[d.n++] = w;
	for (uint32_t i = 0; i < nunits; i++) {
		d.gaps += i && units[i - 1].first + units[i - 1].count < units[i].first;
		d.count += (double)units[i].count;
		d.cost += units[i].cost * (double)units[i].count;
	}
	code = d.n ? make_plans(run, &d) : fail(EXIT_REFUSED, "no host is left");
	if (!code)
		code = add_parts(run, &d);
	if (!code)
		last = predict(run, &d, part);
	if (predicted)
		*predicted = last;
out:
	divide_plan_end(&d.plan);
	free(d.worker);
	free(d.more);
	return code;
}

int divide_shares_again(struct divide_run *run, const struct divide_part *part)
{
	struct divide_units units = { part->first, part->count, part->cost / (double)part->count };

	return divide(run, &units, 1, NULL);
}

/* ---- the rest ---- */

static int by_first(const void *a, const void *b)
{
	const struct divide_units *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* Costs change evenly from one place to the next. */
int divide_shares_rest(struct divide_run *run)
{
	struct divide_units rest[(DIVIDE_PLACES_MOST + 2) * STEPS];
	const struct divide_units *place = run->places;
	uint32_t n = 0;
	uint64_t at = 0;

	if (run->nplaces)
		qsort(run->places, run->nplaces, sizeof(*place), by_first);
	for (uint32_t k = 0; k <= run->nplaces; k++) {
		uint64_t end = k < run->nplaces ? place[k].first : run->size;
		double from = k ? place[k - 1].cost : run->nplaces ? place[k].cost : 1;
		double to = k < run->nplaces ? place[k].cost : from;

		for (uint64_t step = 0; step < STEPS; step++) {
			uint64_t next = at + (end - at) / (STEPS - step);

			if (next > at)
				rest[n++] = (struct divide_units){
					at, next - at,
					from + (to - from) * ((double)step + 0.5) / STEPS
				};
			at = next;
		}
		if (k < run->nplaces)
			at += place[k].count;
	}
	return n ? divide(run, rest, n, &run->predicted) : 0;
}

/* The last part that waits for the worker that would be last, or some of it. */
static struct divide_part *part_of_last(struct divide_run *run, double *left)
{
	double *each = calloc(run->nworkers, sizeof(*each)), now = divide_run_now(run);
	struct divide_part *found = NULL;

	for (uint32_t i = 0; i < run->nparts && each; i++) {
		const struct divide_part *p = &run->parts[i];
		double time = divide_run_seconds(run, p->worker, p->cost);

		if (p->state == DIVIDE_WAITS)
			each[p->worker] += time;
		else if (p->state == DIVIDE_RUNS)
			each[p->worker] += fmax(0, time - (now - p->start));
	}
	for (uint32_t i = 0; i < run->nparts && each; i++) {
		struct divide_part *p = &run->parts[i];

		if (p->state == DIVIDE_WAITS && (!found || each[p->worker] >= *left)) {
			found = p;
			*left = each[p->worker];
		}
	}
	free(each);
	return found;
}

int divide_shares_help(struct divide_run *run, uint32_t worker)
{
	double left = 0, unit, units, own = start_of(run, worker);
	struct divide_part *p = part_of_last(run, &left), part;

	if (!p || left <= own)
		return 0;
	/* so many that both are done at the same time */
	unit = p->cost / (double)p->count;
	units = floor((left - own) /
		      (unit * (run->workers[worker].unit + run->workers[p->worker].unit)));
	if (units >= (double)p->count) {
		p->worker = worker;
		return 0;
	}
	/* less than starting it costs is not worth it */
	if (units < 1 || run->workers[worker].unit * unit * units < own)
		return 0;
	part = *p;
	part.worker = worker;
	part.count = (uint64_t)units;
	part.first = p->first + p->count - part.count;
	part.cost = unit * units;
	p->count -= part.count;
	p->cost -= part.cost;
	return divide_run_add(run, &part) < 0 ? fail(EXIT_REFUSED, "no memory for a part") : 0;
}
