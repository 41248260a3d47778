// SPDX-License-Identifier: GPL-2.0-or-later
#include "credit.h"

#include "rule.h"

uint64_t eh_credit_tasks(uint64_t load)
{
	return load / EH_TASK + (load % EH_TASK >= EH_TASK / 2);
}

static bool credit_is_void(const struct eh_credit_range *r, uint64_t serial)
{
	return r->void_ >> (serial - r->first) & 1;
}

/* Those below `end` that have value. */
static unsigned int credit_count_below(const struct eh_credit_range *r, uint64_t end)
{
	uint64_t bits = ~r->void_;

	if (end > r->end)
		end = r->end;
	if (end <= r->first)
		return 0;
	if (end - r->first < 64)
		bits &= (1ull << (end - r->first)) - 1;
	return (unsigned int)__builtin_popcountll(bits);
}

bool eh_offer_is_sound(const struct eh_offer *offer)
{
	const struct eh_credit_range *r = &offer->range;

	return offer->processors && r->end >= r->first && r->end - r->first <= EH_CREDIT_WINDOW &&
	       credit_count_below(r, r->end) <= EH_CREDITS;
}

unsigned int eh_offer_next(const struct eh_offer *offer, uint64_t from, uint64_t *serial)
{
	const struct eh_credit_range *r = &offer->range;
	uint64_t tier;

	for (*serial = from > r->first ? from : r->first; *serial < r->end; ++*serial) {
		if (credit_is_void(r, *serial))
			continue;
		/* those before it are taken, or will be */
		tier = ((uint64_t)offer->tasks + credit_count_below(r, *serial)) /
		       offer->processors;
		return tier < EH_TIERS ? (unsigned int)tier : EH_TIERS;
	}
	return EH_TIERS;
}

unsigned int eh_offer_count(const struct eh_offer *offer, uint64_t from, unsigned int tier)
{
	const uint64_t c = offer->processors,
		       all = credit_count_below(&offer->range, offer->range.end);
	/* places in the order in which tasks take them */
	uint64_t begin = offer->tasks + (uint64_t)credit_count_below(&offer->range, from);
	uint64_t end = offer->tasks + all;

	begin = begin > tier * c ? begin : tier * c;
	end = end < (tier + 1) * c ? end : (tier + 1) * c;
	return end > begin ? (unsigned int)(end - begin) : 0;
}

/* ---- a node's own ---- */

/* The window begins with a credit that has value. */
static void credit_trim(struct eh_credit_range *r)
{
	while (r->first < r->end && (r->void_ & 1)) {
		r->first++;
		r->void_ >>= 1;
	}
}

static void credit_cancel(struct eh_credit_range *r, uint64_t serial)
{
	r->void_ |= 1ull << (serial - r->first);
	credit_trim(r);
}

/* Gives as many as there are to be. One that is given may push out the oldest. */
static void credit_fill(struct eh_credit_range *r)
{
	while (credit_count_below(r, r->end) < EH_CREDITS) {
		if (r->end - r->first == EH_CREDIT_WINDOW)
			credit_cancel(r, r->first);
		r->end++;
	}
}

/* The controller is to be told. */
static void credit_change(struct eh_purse *p)
{
	p->offer.version++;
	p->told_end = p->offer.range.end;
}

void eh_purse_begin(struct eh_purse *p, uint64_t life, unsigned int processors)
{
	*p = (struct eh_purse){
		.offer = { .life = life, .processors = processors, .range = { 1, 1, 0 } }
	};
	credit_fill(&p->offer.range);
	credit_change(p);
}

void eh_purse_tasks(struct eh_purse *p, unsigned int tasks)
{
	if (tasks == p->offer.tasks)
		return;
	p->offer.tasks = tasks;
	credit_change(p);
}

/* Whether it is one of ours that has value. */
static bool credit_has_value(const struct eh_purse *p, const struct eh_credit *credit)
{
	const struct eh_credit_range *r = &p->offer.range;

	return credit->life == p->offer.life && credit->tier < EH_TIERS &&
	       credit->serial >= r->first && credit->serial < r->end &&
	       !credit_is_void(r, credit->serial);
}

bool eh_purse_accept(struct eh_purse *p, const struct eh_credit *credit)
{
	const bool room = p->offer.tasks < (credit->tier + 1ull) * p->offer.processors;

	if (!credit_has_value(p, credit))
		return false;
	credit_cancel(&p->offer.range, credit->serial);
	credit_fill(&p->offer.range);
	p->offer.tasks += room;
	/* That it is used is no news to the controller, which let it be taken, as long as it has others. */
	if (!room || p->offer.range.end - p->told_end >= EH_CREDITS / 2)
		credit_change(p);
	return room;
}

void eh_purse_return(struct eh_purse *p, const struct eh_credit *credit)
{
	if (!credit_has_value(p, credit))
		return;
	credit_cancel(&p->offer.range, credit->serial);
	credit_fill(&p->offer.range);
	credit_change(p);
}

void eh_purse_renew(struct eh_purse *p)
{
	p->offer.range = (struct eh_credit_range){ p->offer.range.end, p->offer.range.end, 0 };
	p->taken.bound = 0;
	credit_fill(&p->offer.range);
	credit_change(p);
}

void eh_purse_taken(struct eh_purse *p, uint64_t bound, uint64_t now)
{
	const struct eh_credit_range *r = &p->offer.range;

	if (bound > r->end || p->taken.bound > r->first)
		return;
	p->taken.bound = bound;
	p->taken.since = now;
}

void eh_purse_expire(struct eh_purse *p, uint64_t now, uint64_t lease)
{
	struct eh_credit_range *r = &p->offer.range;
	const uint64_t bound = p->taken.bound;

	if (bound <= r->first || now - p->taken.since < lease)
		return;
	while (r->first < bound)
		credit_cancel(r, r->first);
	p->taken.bound = 0;
	credit_fill(r);
	credit_change(p);
}
