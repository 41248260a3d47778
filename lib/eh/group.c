// SPDX-License-Identifier: GPL-2.0-or-later
/* Members of a group, their sums, and the events that change them. */
#include "group_inside.h"

#include <errno.h>
#include <stdlib.h>

#include "decide.h"
#include "grant.h"
#include "threshold.h"

struct eh_group *eh_group_new(const struct eh_group_options *options)
{
	struct eh_group *group;
	unsigned int size;

	if (options->n > EH_N_MAX)
		return NULL;
	size = 1u << options->n;
	group = calloc(1, sizeof(*group) + size * sizeof(group->members[0]));
	if (!group)
		return NULL;
	if (options->groups) {
		group->best = calloc((size_t)size * EH_BEST_MAX, sizeof(*group->best));
		if (!group->best) {
			free(group);
			return NULL;
		}
	}
	group->options = *options;
	group->random = options->seed;
	group->size = size;
	return group;
}

void eh_group_free(struct eh_group *group)
{
	if (!group)
		return;
	eh_grant_forget(group, group->size);
	free(group->best);
	free(group);
}

int eh_group_child(const struct eh_group *group, unsigned int child, struct eh_child *out)
{
	const struct group_member *m;

	if (child >= group->size || !group->members[child].present)
		return -EINVAL;
	m = &group->members[child];
	*out = (struct eh_child){ .own = m->own, .state = member_state(m) };
	out->own.load = member_load(m);
	return 0;
}

static int group_join(struct eh_group *group, unsigned int child, const struct eh_report *new)
{
	struct group_member *m = &group->members[child];
	bool draining;

	if (!new->capacity || new->capacity > EH_VALUE_MAX || new->load > EH_VALUE_MAX ||
	    new->threshold > EH_VALUE_MAX || new->length > EH_VALUE_MAX ||
	    new->floor > EH_VALUE_MAX)
		return -EINVAL;
	draining = m->own.draining;
	m->present = true;
	m->own = *new;
	m->own.draining = draining;
	m->own.nodes = new->nodes ? new->nodes : 1;
	m->best = group->best ? group->best + (size_t)child * EH_BEST_MAX : NULL;
	return 0;
}

static int group_report(struct eh_group *group, unsigned int child,
			const struct eh_event_report *new)
{
	struct group_member *m = &group->members[child];

	if (new->load > EH_VALUE_MAX || new->nbest > EH_BEST_MAX)
		return -EINVAL;
	for (size_t i = 0; i < new->nbest; i++)
		if (new->best[i].load > EH_VALUE_MAX || new->best[i].threshold > EH_VALUE_MAX ||
		    new->best[i].length > EH_VALUE_MAX)
			return -EINVAL;
	m->own.load = new->load;
	m->own.dwell = new->dwell;
	for (size_t i = 0; i < new->nseen; i++)
		eh_grant_settle(group, new->seen[i], child);
	if (!m->best)
		return 0;
	m->nbest = new->nbest;
	for (size_t i = 0; i < new->nbest; i++)
		m->best[i] = new->best[i];
	eh_grant_recount(group, child);
	return 0;
}

static int group_follow(struct eh_group *group, const struct eh_rule *rule, eh_emit_fn emit,
			void *ctx)
{
	if (!rule->capacity || rule->load > EH_VALUE_MAX || rule->epoch > EH_EPOCH_MAX)
		return -EINVAL;
	eh_threshold_apply(group, rule, emit, ctx);
	return 0;
}

/* Whether b is to be named before a. */
static bool group_is_better(const struct eh_candidate *b, const struct eh_candidate *a)
{
	enum eh_state of_a = candidate_state(a), of_b = candidate_state(b);

	if (of_a != of_b)
		return of_b < of_a;
	return eh_compare_load(b->load, b->threshold, a->load, a->threshold) < 0;
}

/* Into a list that is sorted and keeps the best. Returns its length. */
static size_t group_insert(struct eh_candidate list[EH_BEST_MAX], size_t n,
			   const struct eh_candidate *c)
{
	size_t i;

	if (candidate_state(c) == EH_SENDER)
		return n;
	if (n < EH_BEST_MAX)
		n++;
	else if (!group_is_better(c, &list[n - 1]))
		return n;
	for (i = n - 1; i && group_is_better(c, &list[i - 1]); i--)
		list[i] = list[i - 1];
	list[i] = *c;
	return n;
}

size_t eh_group_best(const struct eh_group *group, uint32_t first,
		     struct eh_candidate out[EH_BEST_MAX])
{
	size_t n = 0;

	for (unsigned int i = 0; i < group->size; i++) {
		const struct group_member *m = &group->members[i];

		if (!m->present || m->own.draining)
			continue;
		for (unsigned int j = 0; j < m->nbest; j++)
			n = group_insert(out, n, &m->best[j]);
		if (!group->best)
			n = group_insert(out, n,
					 &(struct eh_candidate){ first + i, member_load(m),
								 m->own.threshold, m->own.length,
								 m->own.dwell });
	}
	return n;
}

static int group_handle(struct eh_group *group, const struct eh_event *event, uint64_t now,
			eh_emit_fn emit, void *ctx)
{
	if (event->type == EH_EV_TICK)
		return 0;
	if (event->type == EH_EV_RULE)
		return group_follow(group, &event->rule, emit, ctx);
	if (event->child >= group->size)
		return -EINVAL;
	if (event->type == EH_EV_JOIN)
		return group_join(group, event->child, &event->join);
	if (!group->members[event->child].present)
		return -EINVAL;
	switch (event->type) {
	case EH_EV_LEAVE:
		eh_grant_forget(group, event->child);
		group->members[event->child] =
			(struct group_member){ .asked = group->members[event->child].asked };
		return 0;
	case EH_EV_DRAIN:
		group->members[event->child].own.draining = event->drain.draining;
		return 0;
	case EH_EV_REPORT:
		return group_report(group, event->child, &event->report);
	case EH_EV_FAILED:
		eh_grant_settle(group, event->failed.id, event->child);
		return 0;
	case EH_EV_ARRIVE:
		return eh_decide(group, event, now, emit, ctx);
	default:
		return -EINVAL;
	}
}

int eh_group_step(struct eh_group *group, const struct eh_event *event, uint64_t now,
		  eh_emit_fn emit, void *ctx)
{
	int err = group_handle(group, event, now, emit, ctx);

	if (err)
		return err;
	/* Not when a task arrives: that load is on its way up. */
	if (event->type != EH_EV_ARRIVE) {
		eh_grant_expire(group, now);
		eh_threshold_relax(group, now, emit, ctx);
	}
	return 0;
}
