// SPDX-License-Identifier: GPL-2.0-or-later
/* Who takes an arriving task (the paper's TaskArrive and WhoDoTask). */
#include <errno.h>

#include "group.h"

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

/* The best child, at random among equals; EH_NO_CHILD: none. */
static unsigned int choose(struct eh_group *group, const struct eh_event *arrival)
{
	struct eh_choice choice;

	eh_choice_begin(&choice);
	for (unsigned int i = 0; i < group->size; i++) {
		const struct member *m = &group->members[i];

		if (may_take(group, i, arrival))
			eh_choice_offer(&choice, i, member_state(m), member_load(m) + arrival->size,
					m->threshold, group->options.least, &group->random);
	}
	return choice.child;
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
	unsigned int child = EH_NO_CHILD;

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
	if (child != EH_NO_CHILD) {
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
