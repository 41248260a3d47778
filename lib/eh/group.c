// SPDX-License-Identifier: GPL-2.0-or-later
/* Members of a group, their sums, and the events that change them. */
#include "group.h"

#include <errno.h>
#include <stdlib.h>

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
	free(group);
}

int eh_group_child(const struct eh_group *group, unsigned int child, struct eh_child *out)
{
	const struct member *m;

	if (child >= group->size || !group->members[child].present)
		return -EINVAL;
	m = &group->members[child];
	*out = (struct eh_child){
		.present = true,
		.draining = m->draining,
		.load = member_load(m),
		.threshold = m->threshold,
		.length = m->length,
		.floor = m->floor,
		.capacity = m->capacity,
		.state = member_state(m),
	};
	return 0;
}

/* Added up anew each time: nothing can drift, and a group is small. */
void eh_group_sums(const struct eh_group *group, struct eh_sums *out)
{
	*out = (struct eh_sums){ .epoch = group->epoch };
	for (unsigned int i = 0; i < group->size; i++) {
		const struct member *m = &group->members[i];

		if (!m->present)
			continue;
		out->members++;
		out->load += member_load(m);
		out->threshold += m->threshold;
		out->length += m->length;
		out->capacity += m->capacity;
	}
	out->state = eh_state(out->load, out->threshold, out->length);
}

static int join(struct eh_group *group, const struct eh_event *event)
{
	struct member *m = &group->members[event->child];

	if (!event->capacity || event->capacity > EH_VALUE_MAX || event->load > EH_VALUE_MAX ||
	    event->threshold > EH_VALUE_MAX || event->length > EH_VALUE_MAX ||
	    event->floor > EH_VALUE_MAX)
		return -EINVAL;
	m->present = true;
	m->reported = event->load;
	m->threshold = event->threshold;
	m->length = event->length;
	m->floor = event->floor;
	m->capacity = event->capacity;
	return 0;
}

static int report(struct eh_group *group, const struct eh_event *event)
{
	if (event->load > EH_VALUE_MAX)
		return -EINVAL;
	group->members[event->child].reported = event->load;
	for (size_t i = 0; i < event->nseen; i++)
		eh_grant_settle(group, event->seen[i], event->child);
	return 0;
}

/* Upward goes a change of state or thresholds, or a load that moved by a tenth or a task. */
static bool worth_telling(const struct eh_sums *old, const struct eh_sums *now)
{
	uint64_t moved = old->load > now->load ? old->load - now->load : now->load - old->load;

	return old->state != now->state || old->epoch != now->epoch ||
	       old->members != now->members || old->threshold != now->threshold ||
	       old->length != now->length || old->capacity != now->capacity || moved >= EH_TASK ||
	       (moved && moved >= old->load / 10);
}

static int handle(struct eh_group *group, const struct eh_event *event, uint64_t now,
		  eh_emit_fn emit, void *ctx)
{
	if (event->type == EH_EV_TICK)
		return 0;
	if (event->child >= group->size)
		return -EINVAL;
	if (event->type == EH_EV_JOIN)
		return join(group, event);
	if (!group->members[event->child].present)
		return -EINVAL;
	switch (event->type) {
	case EH_EV_LEAVE:
		eh_grant_forget(group, event->child);
		group->members[event->child] = (struct member){ 0 };
		return 0;
	case EH_EV_DRAIN:
		group->members[event->child].draining = event->flag;
		return 0;
	case EH_EV_REPORT:
		return report(group, event);
	case EH_EV_FAILED:
		eh_grant_settle(group, event->id, event->child);
		return 0;
	case EH_EV_ARRIVE:
		return eh_decide(group, event, now, emit, ctx);
	default:
		return -EINVAL;
	}
}

int eh_step(struct eh_group *group, const struct eh_event *event, uint64_t now, eh_emit_fn emit,
	    void *ctx)
{
	struct eh_sums sums;
	int err;

	err = handle(group, event, now, emit, ctx);
	if (err)
		return err;
	/* Not when a task arrives: that load is on its way up. */
	if (event->type != EH_EV_ARRIVE) {
		eh_grant_expire(group, now);
		eh_threshold_relax(group, now, emit, ctx);
	}
	eh_group_sums(group, &sums);
	if (worth_telling(&group->told, &sums)) {
		group->told = sums;
		emit(ctx, &(struct eh_update){ .type = EH_UP_SUM, .epoch = sums.epoch });
	}
	return 0;
}
