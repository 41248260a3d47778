// SPDX-License-Identifier: GPL-2.0-or-later
#include "slots.h"

#include <stdlib.h>

#define SLOTS_ONE 1000 /* a task, as loads count */
#define SLOTS_LONG_MS (1u << 31) /* after which all is forgotten */

/* A claimant: at least `least`, at most `most`, else in proportion to `weight`. */
struct part {
	uint64_t least, most, weight, got;
};

static uint64_t slots_part_at(const struct part *p, uint64_t level)
{
	const uint64_t wanted = level * p->weight < p->most ? level * p->weight : p->most;

	return wanted > p->least ? wanted : p->least;
}

static uint64_t slots_parts_at(const struct part *parts, size_t n, uint64_t level)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += slots_part_at(&parts[i], level);
	return sum;
}

/* Fills all to the same level, as water does. Returns what is left when all have their most. */
static uint64_t slots_parts_fill(struct part *parts, size_t n, uint64_t total)
{
	uint64_t low = 0, high = total + 1, left;

	while (high - low > 1) {
		const uint64_t level = low + (high - low) / 2;

		if (slots_parts_at(parts, n, level) <= total)
			low = level;
		else
			high = level;
	}
	left = slots_parts_at(parts, n, low);
	left = left < total ? total - left : 0;
	for (size_t i = 0; i < n; i++)
		parts[i].got = slots_part_at(&parts[i], low);
	/* Less than one more for each: one by one, to those at the level. */
	for (size_t i = 0; i < n && left; i++) {
		uint64_t more = slots_part_at(&parts[i], low + 1) - parts[i].got;

		more = more < left ? more : left;
		parts[i].got += more;
		left -= more;
	}
	return left;
}

/* What nobody wants now is given, too: it may be wanted before the next look. */
static void slots_parts_share(struct part *parts, size_t n, uint64_t total)
{
	if (!slots_parts_fill(parts, n, total))
		return;
	for (size_t i = 0; i < n; i++) {
		parts[i].least = parts[i].got;
		parts[i].most = EH_SLOTS_MAX * parts[i].weight;
	}
	slots_parts_fill(parts, n, total);
}

static int slots_by_user(const void *a, const void *b)
{
	const struct eh_slots_claim *x = a, *y = b;

	return x->user < y->user ? -1 : x->user > y->user;
}

static size_t slots_of_user(const struct eh_slots_claim *claims, size_t n)
{
	size_t same = 1;

	while (same < n && claims[same].user == claims->user)
		same++;
	return same;
}

bool eh_slots_share(unsigned int slots, struct eh_slots_claim *claims, size_t n)
{
	struct part *users, *own;
	size_t nusers = 0, k, i, j;

	for (i = 0; i < n; i++)
		claims[i].granted = claims[i].builds;
	/* The user's parts, and behind them those of a user's claims. */
	users = n ? calloc(2 * n, sizeof(*users)) : NULL;
	if (!users)
		return !n;
	own = users + n;
	qsort(claims, n, sizeof(*claims), slots_by_user);
	for (i = 0; i < n; i += k) {
		struct part *u = &users[nusers++];

		k = slots_of_user(claims + i, n - i);
		u->weight = 1;
		for (j = i; j < i + k; j++) {
			u->least += claims[j].builds;
			u->most += claims[j].wants > claims[j].builds ? claims[j].wants
								      : claims[j].builds;
		}
	}
	slots_parts_share(users, nusers, slots);
	nusers = 0;
	for (i = 0; i < n; i += k) {
		k = slots_of_user(claims + i, n - i);
		for (j = 0; j < k; j++)
			own[j] = (struct part){ .least = claims[i + j].builds,
						.most = claims[i + j].wants,
						.weight = claims[i + j].builds };
		slots_parts_share(own, k, users[nusers++].got);
		for (j = 0; j < k; j++)
			claims[i + j].granted = own[j].got;
	}
	free(users);
	return true;
}

/* `diff` * passed / (passed + EH_SLOTS_DAMP_MS); the sums of a cluster may have 52 bits, for a node may say anything. */
static int64_t slots_others_moved(int64_t diff, int64_t passed)
{
	const int64_t whole = passed + EH_SLOTS_DAMP_MS;

	return diff / whole * passed + diff % whole * passed / whole;
}

unsigned int eh_slots_free(struct eh_slots_others *others, uint64_t capacity, uint64_t load,
			   uint64_t used, uint64_t now)
{
	const int64_t whole = (int64_t)capacity;
	int64_t is = (int64_t)load - (int64_t)used * SLOTS_ONE;
	const uint64_t passed = now > others->at ? now - others->at : 0;
	uint64_t taken, slots;

	/* What somebody says who lies, or is far overloaded, is not felt for long after. */
	is = is < -whole ? -whole : is > whole ? whole : is;
	if (!others->known || passed >= SLOTS_LONG_MS)
		others->mean = is;
	else
		others->mean += slots_others_moved(is - others->mean, (int64_t)passed);
	others->known = true;
	others->at = now;
	/* Builds that wait for files and are not in the load make no room. */
	taken = others->mean > 0 ? (uint64_t)others->mean : 0;
	slots = taken < capacity ? (capacity - taken + SLOTS_ONE / 2) / SLOTS_ONE : 0;
	return slots < INT32_MAX ? slots : INT32_MAX;
}

unsigned int eh_slots_offer(unsigned int free, unsigned int hosts)
{
	const unsigned int part = (free + 7) / 8, ready = hosts > part ? hosts : part;

	return free + (ready < free ? ready : free);
}
