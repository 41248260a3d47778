// SPDX-License-Identifier: GPL-2.0-or-later
/* Who takes an arriving task (the paper's TaskArrive and WhoDoTask). */
#include <errno.h>

#include "group.h"

/* splitmix64 (Steele, Lea, Flood 2014): one word of state, any seed is good. */
static uint64_t random_next(struct eh_group *group)
{
	uint64_t z = group->random += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static bool may_take(const struct eh_group *group, unsigned int child,
		     const struct eh_event *arrival)
{
	const struct member *m = &group->members[child];

	/* home itself is a sender, or nobody would be looked for */
	if (!m->present || m->draining)
		return false;
	if (arrival->tried && arrival->tried[child / 64] >> child % 64 & 1)
		return false;
	return member_state(m) != EH_SENDER && member_load(m) + arrival->size <= EH_VALUE_MAX;
}

/*
 * Negative if `a` is the better choice, 0 if they are equals. With `least`, the
 * one that will be less loaded, for its threshold, once it has the task: among
 * idle nodes that is the largest.
 */
static int compare(const struct eh_group *group, const struct member *a, const struct member *b,
		   uint64_t size)
{
	int by_state = (int)member_state(a) - (int)member_state(b);
	unsigned __int128 x, y;

	if (by_state || !group->options.least)
		return by_state;
	x = (unsigned __int128)(member_load(a) + size) * (b->threshold ? b->threshold : 1);
	y = (unsigned __int128)(member_load(b) + size) * (a->threshold ? a->threshold : 1);
	return x < y ? -1 : x > y;
}

/* The best child, at random among equals; group->size: none. */
static unsigned int choose(struct eh_group *group, const struct eh_event *arrival)
{
	unsigned int best = group->size, equals = 0;

	for (unsigned int i = 0; i < group->size; i++) {
		int order;

		if (!may_take(group, i, arrival))
			continue;
		order = best == group->size ? -1
					    : compare(group, &group->members[i],
						      &group->members[best], arrival->size);
		if (order < 0)
			equals = 0;
		/* Each of k equals ends up chosen with probability 1/k. */
		if (order <= 0 && random_next(group) % ++equals == 0)
			best = i;
	}
	return best;
}

/*
 * The paper modifies thresholds and then handles the arrival again; this cannot
 * go on: by theorem 4.1 the group is no sender after it, whatever the loads, so
 * the second look is the last, and one `if` does for the loop.
 */
int eh_decide(struct eh_group *group, const struct eh_event *event, uint64_t now, eh_emit_fn emit,
	      void *ctx)
{
	const struct member *home = &group->members[event->child];
	struct eh_update up = { .type = EH_UP_NONE, .child = event->child, .id = event->id };
	struct grant *grant;
	struct eh_sums sums;
	unsigned int child = group->size;

	if (event->size > EH_VALUE_MAX)
		return -EINVAL;
	/* First, as this alone can fail: then nothing has changed. */
	grant = eh_grant_reserve(group, event->id, event->size, now);
	if (!grant)
		return -ENOMEM;

	if (member_state(home) == EH_SENDER) {
		up.probes++;
		eh_group_sums(group, &sums);
		if (sums.state == EH_SENDER) {
			eh_threshold_modify(group, emit, ctx);
			up.probes++;
		}
	}
	/* A home that is no sender (any more) is the best place. */
	if (member_state(home) == EH_SENDER)
		child = choose(group, event);
	if (child < group->size) {
		up.type = EH_UP_PLACE;
		up.child = child;
		up.found = member_state(&group->members[child]);
		up.threshold = group->members[child].threshold;
		up.length = group->members[child].length;
		eh_grant_to(group, grant, child);
	} else {
		eh_grant_drop(group, grant);
	}
	up.epoch = group->epoch;
	emit(ctx, &up);
	return 0;
}
