// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rings where results wait for links that data still use, by an interior point method (Mehrotra's
 * predictor and corrector, and Gondzio's correctors). Written processor by processor, as in
 * direct.c, each step is a band system, so its time is linear in the number of processors.
 *
 * The steps need not be exact, because both answers are made from them by plain sums. Shares of any
 * kind have a finish time (divide_finish()). And any flow of 1 from the start to the end of the
 * schedule, over its data, computing, waiting and results, bounds the finish time of all shares:
 * that is at least the length of each path, so at least the mean of their lengths, which is linear
 * in the shares; its least value is that of the processor where a unit costs least.
 */
#include "ring.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 400
#define WORK 4000000 /* processors x rounds; some seconds */
#define CLOSE 2e-10 /* finish time over bound, where it ends */
#define EXACT 1e-9
#define STALLED 30 /* rounds without progress */
#define CORRECTORS 4
#define LONGER 0.2 /* of a step, for each corrector */
#define LOW 0.1 /* of what a product should be; what is between is not corrected */
#define HIGH 10
#define ENTRIES 5
#define HALF_BAND 7 /* results of a processor, and of the next one when they leave */

/* Unknowns of a processor: prices of the two equations, load that arrives, time left then, results
 * that leave it, time left when they leave. */
enum { PRICE_DATA, PRICE_RESULTS, LOAD, LEFT, RESULTS, LEAVE, UNKNOWNS };

/* What is at least 0: a share; the time from computing, or from the data on the link, to results that
 * leave; the time from then until those of the next one leave; the share of processor 0, and the
 * time from its computing to the finish. */
enum { SHARE, COMPUTED, WAITED, PASSED, HOME_SHARE, HOME_COMPUTED };

struct row { /* sum of value * unknown >= right, or equal */
	uint32_t at[ENTRIES];
	double value[ENTRIES], right;
	uint32_t count, kind, of;
};

struct inner {
	const struct divide_ring *r;
	uint32_t first, count; /* of processors behind 0 that may have work */
	double *z; /* the unknowns */
	struct row *rows;
	size_t nrows;
	double *slack, *price, *residue, *ds, *dp, *target, *kept; /* of rows */
	double *step, *right; /* of unknowns */
	struct row *equations; /* 2 x count; an empty one has no entries */
	struct band band;
	double *w; /* shares that are tried */
	double *computing, *waiting; /* the flow */
	double *back, *cost; /* under it: of a unit of results on the way home, of a unit of work */
	double finish, bound;
};

static uint32_t at(uint32_t j, int unknown)
{
	return j * UNKNOWNS + unknown;
}

static void put(struct row *row, uint32_t unknown, double value)
{
	if (value == 0)
		return;
	row->at[row->count] = unknown;
	row->value[row->count++] = value;
}

static double value_of(const struct row *row, const double *z)
{
	double sum = 0;

	for (uint32_t k = 0; k < row->count; k++)
		sum += row->value[k] * z[row->at[k]];
	return sum;
}

/* ---- the programme ---- */

static void put_equations(struct inner *s, uint32_t j)
{
	const struct divide_ring *r = s->r;
	struct row *data = &s->equations[2 * j], *results = data + 1;
	uint32_t u = s->first + j;

	if (j) {
		put(data, at(j - 1, LEFT), 1);
		put(data, at(j, LEFT), -1);
		put(data, at(j, LOAD), -r->c[u - 1]);
		data->right = r->sd[u - 1];
		put(results, at(j - 1, RESULTS), -1);
	}
	put(results, at(j, RESULTS), 1);
	put(results, at(j, LOAD), -r->m[u]);
	if (j + 1 < s->count)
		put(results, at(j + 1, LOAD), r->m[u]);
	results->right = r->b[u];
}

static struct row *next_row(struct inner *s, int kind, uint32_t j)
{
	struct row *row = &s->rows[s->nrows++];

	row->kind = kind;
	row->of = j;
	return row;
}

static void put_rows(struct inner *s, uint32_t j)
{
	const struct divide_ring *r = s->r;
	uint32_t u = s->first + j;
	bool sends = j + 1 < s->count;
	struct row *row = next_row(s, SHARE, j);

	put(row, at(j, LOAD), 1);
	if (sends)
		put(row, at(j + 1, LOAD), -1);
	row = next_row(s, COMPUTED, j);
	put(row, at(j, LEFT), 1);
	put(row, at(j, LOAD), -r->a[u]);
	put(row, at(j, LEAVE), -1);
	if (sends)
		put(row, at(j + 1, LOAD), r->a[u] - (r->serial ? r->c[u] : 0));
	row->right = sends && r->serial ? r->sd[u] : 0;
	row = next_row(s, PASSED, j);
	put(row, at(j, LEAVE), 1);
	put(row, at(j, RESULTS), -(sends ? r->c[u] : divide_sum(r->c, u, r->n)));
	if (sends)
		put(row, at(j + 1, LEAVE), -1);
	row->right = sends ? r->sr[u] : divide_sum(r->sr, u, r->n);
	/* with `serial`, a processor sends before it computes */
	if (!sends || r->serial)
		return;
	row = next_row(s, WAITED, j);
	put(row, at(j + 1, LEFT), 1);
	put(row, at(j, LEAVE), -1);
}

static void put_home(struct inner *s)
{
	const struct divide_ring *r = s->r;
	struct row *row = next_row(s, HOME_SHARE, 0);

	put(row, at(0, LOAD), -1);
	row->right = -1;
	row = next_row(s, HOME_COMPUTED, 0);
	put(row, at(0, LEFT), 1);
	put(row, at(0, LOAD), divide_sum(r->c, 0, s->first) + r->a[0] - (r->serial ? r->c[0] : 0));
	row->right = r->a[0] - divide_sum(r->sd, 0, s->first) + (r->serial ? r->sd[0] : 0);
}

/* ---- both answers ---- */

/* INFINITY: these are no shares, or some that do not have the results that the bound counts. */
static double finish_of(const struct divide_ring *r, const double *w)
{
	double all = 0;

	for (uint32_t i = 0; i < r->n; i++)
		all += w[i] > 0 || (w[i] == 0 && r->b[i] == 0) ? w[i] : INFINITY;
	return fabs(all - 1) < 1e-10 ? divide_finish(r, w) : INFINITY;
}

/* Rounding or a last step may have made a share less than 0. */
static void offer(struct inner *s, struct divide_answer *answer)
{
	const struct divide_ring *r = s->r;
	double all, finish;

	memset(s->w, 0, r->n * sizeof(*s->w));
	all = s->w[0] = fmax(1 - s->z[at(0, LOAD)], 0);
	for (uint32_t j = 0; j < s->count; j++) {
		double next = j + 1 < s->count ? s->z[at(j + 1, LOAD)] : 0;

		s->w[s->first + j] = fmax(s->z[at(j, LOAD)] - next, 0);
		all += s->w[s->first + j];
	}
	for (uint32_t i = 0; i < r->n; i++)
		s->w[i] /= all;
	finish = finish_of(r, s->w);
	if (!(finish < s->finish))
		return;
	s->finish = finish;
	memcpy(answer->w, s->w, r->n * sizeof(*s->w));
}

/* The flow over computing and waiting is that of the prices, made 1. Returns that of processor 0's
 * computing. */
static double find_flow(struct inner *s)
{
	double own = 0, all = 0;

	memset(s->waiting, 0, s->count * sizeof(*s->waiting));
	for (size_t k = 0; k < s->nrows; k++) {
		double price = fmax(s->price[k], 0);

		switch (s->rows[k].kind) {
		case COMPUTED:
			s->computing[s->rows[k].of] = price;
			break;
		case WAITED:
			s->waiting[s->rows[k].of] = price;
			break;
		case HOME_COMPUTED:
			own = price;
			break;
		default:
			continue;
		}
		all += price;
	}
	for (uint32_t j = 0; j < s->count; j++) {
		s->computing[j] /= all;
		s->waiting[j] /= all;
	}
	return own / all;
}

/* What a unit costs on each processor under a flow, of which `own` is over processor 0's computing.
 * Returns the length of paths without work. */
static double find_costs(struct inner *s, double own)
{
	const struct divide_ring *r = s->r;
	uint32_t last = s->first + s->count - 1;
	double fixed = 0, results = 0, back = 0, there = 0, length = 0, data = 1 - own;

	/* results on their way over the link behind each, or all the way from the last one */
	for (uint32_t j = 0; j < s->count; j++) {
		uint32_t u = s->first + j, next = u < last ? u + 1 : r->n;

		results += s->computing[j] + s->waiting[j];
		fixed += r->b[u];
		length +=
			results * (divide_sum(r->sr, u, next) + divide_sum(r->c, u, next) * fixed);
		s->back[j] = results * divide_sum(r->c, u, next);
	}
	for (uint32_t j = s->count; j-- > 0;) {
		back += s->back[j];
		s->back[j] = back;
	}
	/* data, to the first one and from one to the next */
	for (uint32_t i = 0; i < s->first; i++) {
		double flow = data + (!i && r->serial ? own : 0);

		there += r->c[i] * flow;
		length += r->sd[i] * flow;
	}
	for (uint32_t j = 0; j < s->count; j++) {
		uint32_t u = s->first + j;
		double flow;

		s->cost[j] = r->a[u] * s->computing[j] + there + r->m[u] * s->back[j];
		/* paths that wait for the data on the link go over it, and so do those that compute
		 * when these are sent */
		flow = fmax(data - (r->serial ? 0 : s->computing[j]), 0);
		data -= s->computing[j] + s->waiting[j];
		if (u == last)
			break;
		there += r->c[u] * flow;
		length += r->sd[u] * flow;
	}
	return length;
}

static void find_bound(struct inner *s)
{
	double own = find_flow(s), length = find_costs(s, own), least = s->r->a[0] * own;

	for (uint32_t j = 0; j < s->count; j++)
		least = fmin(least, s->cost[j]);
	s->bound = fmax(s->bound, length + least);
}

/* ---- steps ---- */

/* Far enough inside: equal shares, and time for all. */
static void start_shares(struct inner *s)
{
	const struct divide_ring *r = s->r;
	double room = 1.0 / (s->count + 1), sum = 0, left = 0, least = 0, *z = s->z;

	for (uint32_t j = 0; j < s->count; j++) {
		z[at(j, LOAD)] = (s->count - j) * room;
		sum += r->m[s->first + j] * room + r->b[s->first + j];
		z[at(j, RESULTS)] = sum;
	}
	for (uint32_t j = s->count; j-- > 0;) {
		z[at(j, LEFT)] = left;
		if (j)
			left += r->sd[s->first + j - 1] + r->c[s->first + j - 1] * z[at(j, LOAD)];
	}
	/* rows are by processor */
	for (size_t k = s->nrows; k-- > 0;)
		if (s->rows[k].kind == PASSED)
			z[at(s->rows[k].of, LEAVE)] =
				s->rows[k].right - value_of(&s->rows[k], z) + room;
	for (size_t k = 0; k < s->nrows; k++)
		if (s->rows[k].kind != SHARE && s->rows[k].kind != HOME_SHARE)
			least = fmax(least, s->rows[k].right - value_of(&s->rows[k], z));
	for (uint32_t j = 0; j < s->count; j++)
		z[at(j, LEFT)] += least + room;
	for (size_t k = 0; k < s->nrows; k++)
		s->slack[k] = fmax(value_of(&s->rows[k], z) - s->rows[k].right, 1e-3 * room);
}

/* A flow that is the same over all computing and waiting, and the prices that follow from it. */
static void start_prices(struct inner *s)
{
	double own, passing = 0, most = 0, least, data, *z = s->z;

	for (size_t k = 0; k < s->nrows; k++)
		s->price[k] = 1;
	own = find_flow(s);
	find_costs(s, own);
	least = s->r->a[0] * own;
	for (uint32_t j = 0; j < s->count; j++) {
		least = fmin(least, s->cost[j]);
		most = fmax(most, s->cost[j]);
	}
	data = 1 - own;
	for (uint32_t j = 0; j < s->count; j++) {
		z[at(j, PRICE_DATA)] = j ? data : 0;
		z[at(j, PRICE_RESULTS)] = s->back[j];
		data -= s->computing[j] + (j ? s->waiting[j - 1] : 0);
	}
	for (size_t k = 0; k < s->nrows; k++) {
		uint32_t j = s->rows[k].of;

		switch (s->rows[k].kind) {
		case SHARE:
			s->price[k] = s->cost[j] - least + most;
			break;
		case PASSED:
			passing += s->computing[j] + s->waiting[j];
			s->price[k] = passing;
			break;
		case HOME_SHARE:
			s->price[k] = s->r->a[0] * own - least + most;
			break;
		default:
			s->price[k] = own;
		}
	}
}

static void add_row(struct inner *s, const struct row *row, double weight)
{
	for (uint32_t p = 0; p < row->count; p++)
		for (uint32_t q = 0; q < row->count; q++)
			*band_at(&s->band, row->at[p], row->at[q]) +=
				weight * row->value[p] * row->value[q];
}

static int factor(struct inner *s)
{
	band_clear(&s->band, (size_t)s->count * UNKNOWNS);
	for (size_t k = 0; k < s->nrows; k++)
		add_row(s, &s->rows[k], s->price[k] / s->slack[k]);
	for (uint32_t e = 0; e < 2 * s->count; e++) {
		uint32_t own = at(e / 2, e % 2);

		if (!s->equations[e].count)
			*band_at(&s->band, own, own) = 1;
		for (uint32_t k = 0; k < s->equations[e].count; k++) {
			uint32_t other = s->equations[e].at[k];

			*band_at(&s->band, own, other) -= s->equations[e].value[k];
			*band_at(&s->band, other, own) -= s->equations[e].value[k];
		}
	}
	return band_factor(&s->band);
}

/* The step towards slack * price = target in each row; s->step, s->ds, s->dp. */
static void solve(struct inner *s)
{
	double *right = s->step;

	memcpy(right, s->right, (size_t)s->count * UNKNOWNS * sizeof(*right));
	for (size_t k = 0; k < s->nrows; k++) {
		const struct row *row = &s->rows[k];
		double push = (s->target[k] - s->price[k] * s->residue[k]) / s->slack[k];

		for (uint32_t p = 0; p < row->count; p++)
			right[row->at[p]] += push * row->value[p];
	}
	band_solve(&s->band, right);
	for (size_t k = 0; k < s->nrows; k++) {
		s->ds[k] = value_of(&s->rows[k], s->step) + s->residue[k];
		s->dp[k] = (s->target[k] - s->price[k] * s->ds[k]) / s->slack[k];
	}
}

/* What does not depend on the target: minus the residues of prices and equations. */
static void find_residues(struct inner *s)
{
	double *right = s->right;

	memset(right, 0, (size_t)s->count * UNKNOWNS * sizeof(*right));
	right[at(0, LEFT)] = -1;
	right[at(0, LOAD)] = -divide_sum(s->r->c, 0, s->first);
	for (size_t k = 0; k < s->nrows; k++) {
		const struct row *row = &s->rows[k];

		s->residue[k] = value_of(row, s->z) - row->right - s->slack[k];
		for (uint32_t p = 0; p < row->count; p++)
			right[row->at[p]] += s->price[k] * row->value[p];
	}
	for (uint32_t e = 0; e < 2 * s->count; e++) {
		const struct row *row = &s->equations[e];
		uint32_t own = at(e / 2, e % 2);

		for (uint32_t p = 0; p < row->count; p++)
			right[row->at[p]] += s->z[own] * row->value[p];
		right[own] = row->count ? value_of(row, s->z) - row->right : 0;
	}
}

/* How far all can go and stay above 0. */
static double reach(const double *value, const double *step, size_t count)
{
	double part = 1;

	for (size_t k = 0; k < count; k++)
		if (step[k] < 0)
			part = fmin(part, -value[k] / step[k]);
	return part;
}

static double product(const struct inner *s, double primal, double dual)
{
	double sum = 0;

	for (size_t k = 0; k < s->nrows; k++)
		sum += (s->slack[k] + primal * s->ds[k]) * (s->price[k] + dual * s->dp[k]);
	return sum / s->nrows;
}

/* How far both go. */
struct parts {
	double primal, dual;
};

static struct parts reach_both(const struct inner *s)
{
	return (struct parts){ reach(s->slack, s->ds, s->nrows), reach(s->price, s->dp, s->nrows) };
}

/* Gondzio's correctors: products that would be far from `aim` after a longer step are brought back,
 * as long as that makes steps longer. */
static struct parts correct(struct inner *s, double aim, struct parts now)
{
	for (unsigned int round = 0; round < CORRECTORS && fmin(now.primal, now.dual) < 0.99;
	     round++) {
		struct parts far = { fmin(1, now.primal + LONGER), fmin(1, now.dual + LONGER) },
			     then;

		memcpy(s->kept, s->target, s->nrows * sizeof(*s->kept));
		for (size_t k = 0; k < s->nrows; k++) {
			double v = (s->slack[k] + far.primal * s->ds[k]) *
				   (s->price[k] + far.dual * s->dp[k]);
			double wanted = fmin(fmax(v, LOW * aim), HIGH * aim);

			s->target[k] += fmax(wanted - v, -HIGH * aim);
		}
		solve(s);
		then = reach_both(s);
		if (then.primal + then.dual < now.primal + now.dual + 0.1 * LONGER) {
			memcpy(s->target, s->kept, s->nrows * sizeof(*s->kept));
			solve(s);
			break;
		}
		now = then;
	}
	return now;
}

static bool step(struct inner *s)
{
	double mean = product(s, 0, 0), part;
	struct parts go;

	find_residues(s);
	if (factor(s))
		return false;
	for (size_t k = 0; k < s->nrows; k++)
		s->target[k] = -s->slack[k] * s->price[k];
	solve(s);
	go = reach_both(s);
	part = pow(product(s, go.primal, go.dual) / mean, 3);
	part = fmin(fmax(part, 1e-6), 1);
	for (size_t k = 0; k < s->nrows; k++)
		s->target[k] = part * mean - s->slack[k] * s->price[k] -
			       go.primal * go.dual * s->ds[k] * s->dp[k];
	solve(s);
	go = correct(s, part * mean, reach_both(s));
	go.primal = fmin(1, 0.995 * go.primal);
	go.dual = fmin(1, 0.995 * go.dual);
	if (!isfinite(go.primal) || !isfinite(go.dual) || !isfinite(s->step[at(0, LOAD)]))
		return false;
	for (uint32_t i = 0; i < s->count * UNKNOWNS; i++)
		s->z[i] += (i % UNKNOWNS < LOAD ? go.dual : go.primal) * s->step[i];
	for (size_t k = 0; k < s->nrows; k++) {
		s->slack[k] += go.primal * s->ds[k];
		s->price[k] += go.dual * s->dp[k];
	}
	return true;
}

static int begin(struct inner *s)
{
	size_t unknowns = (size_t)s->count * UNKNOWNS, most = 4 * (size_t)s->count + 2;
	double *block;

	s->rows = calloc(most + 2 * (size_t)s->count, sizeof(*s->rows));
	block = s->z =
		calloc(3 * unknowns + 7 * most + 4 * (size_t)s->count + s->r->n, sizeof(*s->z));
	if (!s->rows || !block || band_begin(&s->band, unknowns, HALF_BAND, HALF_BAND))
		return -ENOMEM;
	s->equations = s->rows + most;
	s->step = (block += unknowns);
	s->right = (block += unknowns);
	s->slack = (block += unknowns);
	s->price = (block += most);
	s->residue = (block += most);
	s->ds = (block += most);
	s->dp = (block += most);
	s->target = (block += most);
	s->kept = (block += most);
	s->computing = (block += most);
	s->waiting = (block += s->count);
	s->back = (block += s->count);
	s->cost = (block += s->count);
	s->w = (block += s->count);
	for (uint32_t j = 0; j < s->count; j++) {
		put_equations(s, j);
		put_rows(s, j);
	}
	put_home(s);
	return 0;
}

int divide_inner(const struct divide_ring *r, struct plan_watch *watch,
		 struct divide_answer *answer)
{
	struct inner s = { .r = r, .first = 1, .finish = INFINITY, .bound = answer->bound };
	uint32_t last = r->n - 1, better = 0, rounds;
	double gap = INFINITY, least = INFINITY;
	int err;

	while (s.first < r->n && !r->allowed[s.first])
		s.first++;
	while (last > s.first && !r->allowed[last])
		last--;
	if (s.first == r->n)
		return -EDOM;
	for (uint32_t i = s.first; i <= last; i++)
		if (!r->allowed[i] || r->results_first[i])
			return -EDOM;
	s.count = last - s.first + 1;
	err = begin(&s);
	if (err)
		goto out;
	s.finish = finish_of(r, answer->w);
	start_shares(&s);
	start_prices(&s);
	rounds = WORK / s.count < ROUNDS ? WORK / s.count + 1 : ROUNDS;
	for (uint32_t round = 0; round < rounds && !plan_watch_over(watch); round++) {
		offer(&s, answer);
		find_bound(&s);
		answer->rounds = round + 1;
		gap = s.finish - s.bound;
		if (product(&s, 0, 0) < 0.99 * least) {
			least = product(&s, 0, 0);
			better = round;
		}
		if (gap <= CLOSE * s.bound || round - better > STALLED || !step(&s))
			break;
	}
	/* the sums are rounded */
	answer->bound = s.bound * (1 - 1e-12);
	answer->exact = gap <= EXACT * s.bound;
out:
	band_end(&s.band);
	free(s.rows);
	free(s.z);
	return err;
}
