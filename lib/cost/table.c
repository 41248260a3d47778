// SPDX-License-Identifier: GPL-2.0-or-later
#include "cost/table.h"

#include <stdlib.h>

#include "cost/entry.h"
#include "cost/key.h"

#define COST_WEIGHT 8u /* once there are eight runs, each is an eighth of the mean */
#define COST_WEEK (7 * 86400)
#define COST_OUTLIER 4 /* a transfer, or a ratio, counts as this many others at most */
#define COST_SURE 32u /* as COST_WEIGHT, of runs that are compared: programs that differ */
#define COST_RETRY 3600
#define COST_SLOW_MOST 100000 /* thousandths: a run that is compared counts as this at most */

/* ---- figures ---- */

/* Runs that are as good as the ones of now. */
static uint32_t cost_left(uint32_t runs, int64_t seen, int64_t now)
{
	/* A clock that went back makes nothing younger. */
	const uint64_t age = now > seen ? (uint64_t)now - (uint64_t)seen : 0;
	const uint64_t weeks = age / COST_WEEK;

	return weeks < 32 ? runs >> weeks : 0;
}

static uint64_t cost_bound(uint64_t value)
{
	return value < COST_MOST ? value : COST_MOST;
}

/* `runs` has this one, of which `most` count. All is below 2^49, and so the sums are below 2^50. */
static void cost_value_add(struct cost_value *v, uint64_t value, uint32_t runs, uint32_t most)
{
	const uint64_t weight = runs < most ? runs : most;
	const uint64_t x = cost_bound(value), diff = x > v->mean ? x - v->mean : v->mean - x;

	if (runs <= 1) {
		*v = (struct cost_value){ .mean = x };
		return;
	}
	v->dev = diff > v->dev ? v->dev + (diff - v->dev) / weight
			       : v->dev - (v->dev - diff) / weight;
	v->mean = x > v->mean ? v->mean + diff / weight : v->mean - diff / weight;
}

/* What the mean may be wrong by: three times what means of so many runs differ by. */
static uint64_t cost_doubt(const struct cost_value *v, uint32_t runs, uint32_t most)
{
	const uint64_t square = 256ull * (runs < most ? runs : most);
	uint64_t root = 1; /* of it: 16 times that of the runs */

	while ((root + 1) * (root + 1) <= square)
		root++;
	return 3 * 16 * v->dev / root;
}

static void cost_runs_begin(struct cost_runs *r, int64_t now)
{
	r->used = cost_left(r->used, r->seen, now);
	r->runs = cost_left(r->runs, r->seen, now);
	r->seen = now > 0 ? now : 0;
}

static void cost_runs_add(struct cost_runs *r, const struct cost_run *run, int64_t now)
{
	cost_runs_begin(r, now);
	if (r->runs < COST_RUNS)
		r->runs++;
	cost_value_add(&r->of[COST_TIME], run->time_us, r->runs, COST_WEIGHT);
	if (!run->used)
		return;
	if (r->used < COST_RUNS)
		r->used++;
	cost_value_add(&r->of[COST_CPU], run->cpu_us, r->used, COST_WEIGHT);
	cost_value_add(&r->of[COST_MEMORY], run->memory_kib, r->used, COST_WEIGHT);
	cost_value_add(&r->of[COST_BYTES], run->bytes, r->used, COST_WEIGHT);
}

/* ---- a table ---- */

struct cost_table *cost_new(void)
{
	struct cost_table *t = calloc(1, sizeof(*t));

	if (t)
		TAILQ_INIT(&t->order);
	return t;
}

void cost_free(struct cost_table *t)
{
	struct cost_user *u;

	if (!t)
		return;
	while ((u = TAILQ_FIRST(&t->order)))
		cost_user_drop(t, u);
	free(t);
}

unsigned int cost_count(const struct cost_table *t)
{
	return t->count;
}

/* ---- what was, and what is expected ---- */

void cost_ran(struct cost_table *t, uint32_t uid, uint64_t key, enum cost_place place,
	      const struct cost_run *run, int64_t now)
{
	struct cost_user *u = key ? cost_user_get(t, uid) : NULL;
	struct cost_entry *e = u ? cost_entry_get(t, u, key) : NULL;

	if (e)
		cost_runs_add(&e->at[place], run, now);
}

void cost_transferred(struct cost_table *t, uint32_t uid, const char *host, uint64_t us,
		      int64_t now)
{
	const uint64_t name = cost_host_name(host);
	struct cost_user *u = cost_user_get(t, uid);
	struct cost_host *to;
	uint64_t mean, value = us;

	if (!u)
		return;
	to = &u->hosts[0];
	for (struct cost_host *h = u->hosts; h < u->hosts + COST_HOSTS; h++) {
		if (h->name == name) {
			to = h;
			break;
		}
		/* the one to be forgotten: unused, or of longest ago */
		if (to->name && (!h->name || h->to.seen < to->to.seen))
			to = h;
	}
	if (to->name != name)
		*to = (struct cost_host){ .name = name };
	mean = to->to.of[COST_TIME].mean;
	/* The first ones pay for connections, digests and views: the fastest of them says more. */
	if (to->to.runs && to->to.runs < COST_FEW && cost_bound(us) < mean)
		to->to.runs = 0;
	else if (to->to.runs && us / COST_OUTLIER > mean)
		value = mean * COST_OUTLIER;
	cost_runs_add(&to->to, &(struct cost_run){ .time_us = value }, now);
}

/* Transfers to it; NULL: none is remembered. */
static struct cost_runs *cost_host_find(struct cost_user *u, const char *host)
{
	const uint64_t name = cost_host_name(host);

	for (struct cost_host *h = u->hosts; h < u->hosts + COST_HOSTS; h++)
		if (h->name == name)
			return &h->to;
	return NULL;
}

/* What such a run takes alone here; NULL: not known. */
static const struct cost_runs *cost_alone(const struct cost_entry *e, int64_t now)
{
	const struct cost_runs *alone = &e->at[COST_ALONE];

	return cost_left(alone->runs, alone->seen, now) >= COST_FEW ? alone : NULL;
}

void cost_compared(struct cost_table *t, uint32_t uid, uint64_t key, const char *host,
		   const struct cost_run *run, int64_t now)
{
	struct cost_entry *e = cost_entry_find(t, uid, key);
	const struct cost_runs *alone = e ? cost_alone(e, now) : NULL;
	struct cost_runs *to = e ? cost_host_find(e->user, host) : NULL;
	uint64_t here, ratio, most = COST_SLOW_MOST;
	struct cost_value *slow;

	if (!alone || !to || !run->used)
		return;
	here = alone->of[COST_TIME].mean;
	if (!here || run->cpu_us < here / 4)
		return;
	cost_runs_begin(to, now);
	slow = &to->of[COST_SLOW];
	/* It is not slow because runs here happened to be short, nor by one run there. */
	here += cost_doubt(&alone->of[COST_TIME], alone->runs, COST_WEIGHT);
	if (to->used && slow->mean < COST_SLOW_MOST / COST_OUTLIER)
		most = COST_OUTLIER * (slow->mean > 1000 ? slow->mean : 1000);
	ratio = run->time_us / here < most / 1000 ? run->time_us * 1000 / here : most;
	if (to->used < COST_RUNS)
		to->used++;
	cost_value_add(slow, ratio, to->used, COST_SURE);
}

unsigned int cost_slowness(const struct cost_table *t, uint32_t uid, const char *host, int64_t now)
{
	struct cost_user *u = cost_user_find(t, uid);
	const struct cost_runs *to = u ? cost_host_find(u, host) : NULL;
	const uint32_t runs = to ? cost_left(to->used, to->seen, now) : 0;
	uint64_t mean, doubt;

	if (runs < COST_FEW)
		return 0;
	mean = to->of[COST_SLOW].mean;
	doubt = cost_doubt(&to->of[COST_SLOW], runs, COST_SURE);
	return mean > doubt ? mean - doubt : 1;
}

bool cost_retries(struct cost_table *t, uint32_t uid, uint64_t key, const char *host, int64_t now)
{
	struct cost_entry *e = cost_entry_find(t, uid, key);
	struct cost_runs *to = e ? cost_host_find(e->user, host) : NULL;

	if (!to || !cost_alone(e, now) || (to->seen <= now && now - to->seen < COST_RETRY))
		return false;
	cost_runs_begin(to, now);
	/* of what is old less counts than of what this run will say */
	if (to->used > COST_SURE / 2)
		to->used = COST_SURE / 2;
	return true;
}

/* To the host where it is cheapest; 0: not known. */
static uint64_t cost_transfer(const struct cost_user *u, int64_t now)
{
	uint64_t least = 0;

	for (const struct cost_host *h = u->hosts; h < u->hosts + COST_HOSTS; h++) {
		const uint64_t mean = h->to.of[COST_TIME].mean;

		if (h->name && cost_left(h->to.runs, h->to.seen, now) && (!least || mean < least))
			least = mean ?: 1;
	}
	return least;
}

bool cost_expect(const struct cost_table *t, uint32_t uid, uint64_t key, int64_t now,
		 struct cost_expected *out)
{
	const struct cost_entry *e = cost_entry_find(t, uid, key);
	const struct cost_runs *best = NULL;

	for (int place = COST_HERE; e && place <= COST_AWAY; place++) {
		const struct cost_runs *r = &e->at[place];

		if (cost_left(r->runs, r->seen, now) < COST_FEW)
			continue;
		/* At the same time: what ran elsewhere was not slowed down by the load here. */
		if (!best || r->seen >= best->seen)
			best = r;
	}
	if (!best)
		return false;
	*out = (struct cost_expected){
		.place = best - e->at,
		.runs = cost_left(best->runs, best->seen, now),
		.time_us = best->of[COST_TIME].mean,
		.most_us = best->of[COST_TIME].mean + 2 * best->of[COST_TIME].dev,
		.used = cost_left(best->used, best->seen, now),
		.cpu_us = best->of[COST_CPU].mean,
		.memory_kib = best->of[COST_MEMORY].mean,
		.bytes = best->of[COST_BYTES].mean,
		.transfer_us = cost_transfer(e->user, now),
	};
	return true;
}

static uint64_t cost_runs_memory(const struct cost_runs *r, int64_t now)
{
	const struct cost_value *v = &r->of[COST_MEMORY];

	return cost_left(r->used, r->seen, now) ? v->mean + 2 * v->dev : 0;
}

uint64_t cost_memory(const struct cost_table *t, uint32_t uid, uint64_t key, int64_t now)
{
	const struct cost_entry *e = cost_entry_find(t, uid, key);
	uint64_t most = 0, one;

	for (int place = 0; e && place < COST_PLACES; place++) {
		one = cost_runs_memory(&e->at[place], now);
		if (one > most)
			most = one;
	}
	return most;
}

void cost_starved(struct cost_table *t, uint32_t uid, uint64_t key, uint64_t memory_kib,
		  int64_t now)
{
	struct cost_user *u = key ? cost_user_get(t, uid) : NULL;
	struct cost_entry *e = u ? cost_entry_get(t, u, key) : NULL;
	uint64_t known, least;
	struct cost_runs *r;

	if (!e)
		return;
	r = &e->at[COST_AWAY];
	known = cost_runs_memory(r, now);
	least = cost_bound(memory_kib ?: known);
	least += least / 2;
	cost_runs_begin(r, now);
	/* It is kept, but too few to say how long it takes. */
	if (!r->runs)
		*r = (struct cost_runs){ .seen = r->seen, .runs = 1 };
	if (!r->used)
		r->used = 1;
	if (least > known)
		r->of[COST_MEMORY] = (struct cost_value){ .mean = cost_bound(least) };
}

bool cost_is_short(const struct cost_expected *e)
{
	return e->transfer_us && e->most_us < COST_TRANSFERS * e->transfer_us;
}
