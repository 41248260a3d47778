// SPDX-License-Identifier: GPL-2.0-or-later
#include "credit.h"

#include "rule.h"

uint64_t eh_credit_tasks(uint64_t load)
{
	return load / EH_TASK + (load % EH_TASK >= EH_TASK / 2);
}

void eh_credit_bounds(unsigned int processors, uint32_t *threshold, uint32_t *length)
{
	/* a sender is above it */
	const uint64_t most = (uint64_t)processors * EH_TASK - EH_TASK / 2 - 1;

	if ((uint64_t)*threshold + *length <= most)
		return;
	*threshold = (uint32_t)most;
	*length = 0;
}

static bool is_void(const struct eh_credit_range *r, uint64_t serial)
{
	return r->void_ >> (serial - r->first) & 1;
}

bool eh_credit_next(const struct eh_credit_range *range, uint64_t from, uint64_t *serial)
{
	for (*serial = from > range->first ? from : range->first; *serial < range->end; ++*serial)
		if (!is_void(range, *serial))
			return true;
	return false;
}

unsigned int eh_credit_count(const struct eh_credit_range *range, uint64_t from)
{
	unsigned int count = 0;
	uint64_t serial;

	while (eh_credit_next(range, from, &serial)) {
		count++;
		from = serial + 1;
	}
	return count;
}

/* The window begins with a credit that has value. */
static void trim(struct eh_credit_range *r)
{
	while (r->first < r->end && (r->void_ & 1)) {
		r->first++;
		r->void_ >>= 1;
	}
}

static void cancel(struct eh_credit_range *r, uint64_t serial)
{
	r->void_ |= 1ull << (serial - r->first);
	trim(r);
}

static void issue(struct eh_credit_range *r)
{
	if (r->end - r->first == EH_CREDIT_WINDOW)
		cancel(r, r->first);
	r->end++;
}

/* What a tier is to have. */
static unsigned int wanted(const struct eh_purse *p, unsigned int tier)
{
	unsigned int c = p->processors, most = (tier + 1) * c;

	if (p->tasks >= most)
		return 0;
	return p->tasks > tier * c ? most - p->tasks : c;
}

static bool balance(struct eh_purse *p)
{
	bool changed = false;

	for (unsigned int tier = 0; tier < EH_TIERS; tier++) {
		struct eh_credit_range *r = &p->offer.tiers[tier];
		unsigned int have = eh_credit_count(r, 0), want = wanted(p, tier);
		uint64_t serial = r->end;

		/* one that is given may push out an old one */
		for (; have < want; have = eh_credit_count(r, 0), changed = true)
			issue(r);
		/* The newest first: the oldest may be with a task that is on its way. */
		while (have > want) {
			if (is_void(r, --serial))
				continue;
			cancel(r, serial);
			have--;
			changed = true;
		}
	}
	p->offer.version += changed;
	return changed;
}

void eh_purse_begin(struct eh_purse *p, uint64_t life, unsigned int processors)
{
	*p = (struct eh_purse){ .processors = processors < EH_CREDIT_PROCESSORS
						      ? processors
						      : EH_CREDIT_PROCESSORS,
				.offer = { .life = life } };
	for (unsigned int tier = 0; tier < EH_TIERS; tier++)
		p->offer.tiers[tier] = (struct eh_credit_range){ 1, 1, 0 };
	balance(p);
}

bool eh_purse_tasks(struct eh_purse *p, unsigned int tasks)
{
	p->tasks = tasks;
	return balance(p);
}

/* Whether it is one of ours that has value. */
static bool has_value(const struct eh_purse *p, const struct eh_credit *credit)
{
	const struct eh_credit_range *r;

	if (credit->life != p->offer.life || credit->tier >= EH_TIERS)
		return false;
	r = &p->offer.tiers[credit->tier];
	return credit->serial >= r->first && credit->serial < r->end && !is_void(r, credit->serial);
}

bool eh_purse_accept(struct eh_purse *p, const struct eh_credit *credit)
{
	if (!has_value(p, credit))
		return false;
	cancel(&p->offer.tiers[credit->tier], credit->serial);
	p->offer.version++;
	p->tasks++;
	balance(p);
	return true;
}

void eh_purse_return(struct eh_purse *p, const struct eh_credit *credit)
{
	if (!has_value(p, credit))
		return;
	cancel(&p->offer.tiers[credit->tier], credit->serial);
	balance(p);
}

void eh_purse_renew(struct eh_purse *p)
{
	for (unsigned int tier = 0; tier < EH_TIERS; tier++) {
		struct eh_credit_range *r = &p->offer.tiers[tier];

		*r = (struct eh_credit_range){ r->end, r->end, 0 };
		p->taken[tier].bound = 0;
	}
	p->offer.version++;
	balance(p);
}

void eh_purse_taken(struct eh_purse *p, unsigned int tier, uint64_t bound, uint64_t now)
{
	const struct eh_credit_range *r = &p->offer.tiers[tier];

	if (bound > r->end || p->taken[tier].bound > r->first)
		return;
	p->taken[tier].bound = bound;
	p->taken[tier].since = now;
}

bool eh_purse_expire(struct eh_purse *p, uint64_t now, uint64_t lease)
{
	bool any = false;

	for (unsigned int tier = 0; tier < EH_TIERS; tier++) {
		struct eh_credit_range *r = &p->offer.tiers[tier];
		uint64_t bound = p->taken[tier].bound, serial;

		if (bound <= r->first || now - p->taken[tier].since < lease)
			continue;
		while (eh_credit_next(r, 0, &serial) && serial < bound) {
			cancel(r, serial);
			any = true;
		}
		p->taken[tier].bound = 0;
	}
	return any && balance(p);
}
