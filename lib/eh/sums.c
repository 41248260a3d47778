// SPDX-License-Identifier: GPL-2.0-or-later
/* The sums of a group, by which all decisions are made. */
#include "group_inside.h"

/* A member's load, but not below T-A while it dwells: a group of such members is not a receiver. */
static uint64_t sums_settled_load(const struct group_member *m)
{
	uint64_t low = m->own.threshold > m->own.length ? m->own.threshold - m->own.length : 0;

	return m->own.dwell && member_load(m) < low ? low : member_load(m);
}

/* Added up each time: nothing can drift, and a group is small. */
void eh_group_sums(const struct eh_group *group, struct eh_sums *out)
{
	uint64_t settled = 0;

	*out = (struct eh_sums){ .epoch = group->epoch };
	for (unsigned int i = 0; i < group->size; i++) {
		const struct group_member *m = &group->members[i];

		if (!m->present)
			continue;
		out->members++;
		out->nodes += m->own.nodes;
		out->load += member_load(m);
		settled += sums_settled_load(m);
		out->threshold += m->own.threshold;
		out->length += m->own.length;
		out->floor += m->own.floor;
		out->capacity += m->own.capacity;
	}
	out->dwell = eh_state(out->load, out->threshold, out->length) == EH_RECEIVER &&
		     eh_state(settled, out->threshold, out->length) != EH_RECEIVER;
	out->state = eh_state_dwell(out->load, out->threshold, out->length, out->dwell);
}
