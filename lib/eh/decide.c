// SPDX-License-Identifier: GPL-2.0-or-later
/* Chooses the node of an arriving task (the paper's TaskArrive and WhoDoTask), as far as one controller knows. */
#include "decide.h"

#include <errno.h>

#include "grant.h"
#include "threshold.h"

static bool decide_was_tried(const struct eh_event_arrive *arrival, uint32_t node)
{
	for (size_t i = 0; i < arrival->ntried_nodes; i++)
		if (arrival->tried_nodes[i] == node)
			return true;
	return false;
}

/* The best candidate of a child that is a group; EH_NO_CHILD: none that may take it. */
static unsigned int decide_choose_candidate(struct eh_group *group, const struct group_member *m,
					    const struct eh_event_arrive *arrival)
{
	struct eh_choice choice;

	eh_choice_begin(&choice);
	for (unsigned int i = 0; i < m->nbest; i++) {
		const struct eh_candidate *c = &m->best[i];
		enum eh_state state = candidate_state(c);

		if (state != EH_SENDER && !decide_was_tried(arrival, c->node))
			eh_choice_offer(&choice, i, state, c->load + arrival->size, c->threshold,
					group->options.least, &group->random);
	}
	return choice.child;
}

static bool decide_may_take(const struct eh_group *group, unsigned int child,
			    const struct eh_event_arrive *arrival)
{
	const struct group_member *m = &group->members[child];

	/* home needs no check: it is not to be chosen, or is a sender, or there would be no search */
	if (!m->present || m->own.draining)
		return false;
	if (arrival->tried && arrival->tried[child / 64] >> child % 64 & 1)
		return false;
	return member_state(m) != EH_SENDER && member_load(m) + arrival->size <= EH_VALUE_MAX;
}

/* The best child, at random among equals; EH_NO_CHILD: none. `but` is not to be chosen. */
static unsigned int decide_choose(struct eh_group *group, const struct eh_event_arrive *arrival,
				  unsigned int but)
{
	struct eh_choice choice;

	eh_choice_begin(&choice);
	for (unsigned int i = 0; i < group->size; i++) {
		const struct group_member *m = &group->members[i];

		if (i == but || !decide_may_take(group, i, arrival) ||
		    (m->best && decide_choose_candidate(group, m, arrival) == EH_NO_CHILD))
			continue;
		eh_choice_offer(&choice, i, member_state(m), member_load(m) + arrival->size,
				m->own.threshold, group->options.least, &group->random);
	}
	return choice.child;
}

/* Whether home is a sender by what is known of it here and, if that has just changed, by the rule. */
static bool decide_home_is_sender(const struct eh_group *group, unsigned int child,
				  const struct eh_event_arrive *arrival, const struct eh_rule *rule)
{
	const struct eh_report *home = arrival->home;
	uint64_t threshold;

	if (!group->best || !home)
		return member_state(&group->members[child]) == EH_SENDER;
	threshold = home->threshold;
	if (rule->epoch) {
		threshold = eh_share(rule->load, home->capacity, rule->capacity);
		if (threshold < home->floor)
			threshold = home->floor;
	}
	return eh_state(home->load, threshold, home->length) == EH_SENDER;
}

static void decide_place(struct eh_group *group, const struct eh_event_arrive *arrival,
			 unsigned int child, struct grant *grant, struct eh_update *up)
{
	struct group_member *m = &group->members[child];

	up->type = EH_UP_PLACE;
	up->child = child;
	up->found = member_state(m);
	up->threshold = m->own.threshold;
	up->length = m->own.length;
	if (m->best) {
		struct eh_candidate *c = &m->best[decide_choose_candidate(group, m, arrival)];

		up->node = grant->node = c->node;
		c->load += arrival->size;
	}
	eh_grant_to(group, grant, child);
}

/*
 * The paper modifies the thresholds and then handles the arrival again. By
 * theorem 4.1 the top is not a sender after that, whatever the loads are, so the
 * second look is the last and an `if` does for a loop.
 */
int eh_decide(struct eh_group *group, const struct eh_event *event, uint64_t now, eh_emit_fn emit,
	      void *ctx)
{
	const struct eh_event_arrive *arrival = &event->arrive;
	const struct group_member *home = &group->members[event->child];
	struct eh_update up = { .type = EH_UP_NONE, .child = event->child, .id = arrival->id };
	struct eh_rule rule = { 0 };
	struct grant *grant;
	struct eh_sums sums;
	unsigned int child = EH_NO_CHILD;

	if (arrival->size > EH_VALUE_MAX ||
	    (arrival->home && (!arrival->home->capacity || arrival->home->capacity > EH_VALUE_MAX ||
			       arrival->home->load > EH_VALUE_MAX)))
		return -EINVAL;
	/* First, because only this can fail: then nothing has changed. */
	grant = eh_grant_reserve(group, event->child, arrival->id, arrival->size, now);
	if (!grant)
		return -ENOMEM;

	if (!arrival->leaves && !decide_home_is_sender(group, event->child, arrival, &rule)) {
		/* A home that is not a sender now is the best place. */
		up.calm = true;
		goto out;
	}
	up.probes++;
	eh_group_sums(group, &sums);
	up.own = sums.state;
	if (sums.state == EH_SENDER && !group->options.below) {
		rule = (struct eh_rule){ eh_threshold_next(group->epoch), sums.load,
					 sums.capacity };
		eh_threshold_modify(group, emit, ctx);
		up.probes++;
		up.calm = !arrival->leaves &&
			  !decide_home_is_sender(group, event->child, arrival, &rule);
		if (up.calm)
			goto out;
		/* The nearest group comes first, as if the arrival were handled again from below. */
		if (group->best && decide_may_take(group, event->child, arrival) &&
		    decide_choose_candidate(group, &group->members[event->child], arrival) !=
			    EH_NO_CHILD)
			child = event->child;
	}
	if (child == EH_NO_CHILD && (sums.state != EH_SENDER || !group->options.below))
		child = decide_choose(group, arrival, event->child);
	if (child == EH_NO_CHILD && group->options.below)
		up.type = EH_UP_ASK;
out:
	if (child != EH_NO_CHILD)
		decide_place(group, arrival, child, grant, &up);
	else if (up.calm && !group->best && member_load(home) + arrival->size <= EH_VALUE_MAX)
		/* It will run there: not all of several that ask at once may find home calm. */
		eh_grant_to(group, grant, event->child);
	else
		eh_grant_drop(group, grant);
	up.epoch = group->epoch;
	up.rule = rule;
	emit(ctx, &up);
	return 0;
}
