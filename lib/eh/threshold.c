// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Thresholds follow the total load L: T_i is the child's share by capacity, but
 * at least its floor. Theorems 4.1 (the sum of T_i is at least L, so the group
 * is no sender) and, where no floor is in force and each length is a task or
 * more, 4.2 (each T_i is less than a task above its share of L, so it is no
 * receiver) hold for any capacities.
 */
#include "group.h"

static uint64_t share(const struct member *m, const struct eh_sums *sums)
{
	uint64_t tasks = eh_share(sums->load, m->capacity, sums->capacity);

	return tasks > m->floor ? tasks : m->floor;
}

void eh_threshold_modify(struct eh_group *group, eh_emit_fn emit, void *ctx)
{
	struct eh_sums sums;

	eh_group_sums(group, &sums);
	group->calm = false;
	group->epoch++;
	/* All are told, those that keep theirs too, so that all are in one epoch. */
	for (unsigned int i = 0; i < group->size; i++) {
		struct member *m = &group->members[i];

		if (!m->present)
			continue;
		m->threshold = share(m, &sums);
		emit(ctx, &(struct eh_update){ .type = EH_UP_THRESHOLD,
					       .child = i,
					       .threshold = m->threshold,
					       .length = m->length,
					       .epoch = group->epoch });
	}
}

/*
 * The paper lowers thresholds as soon as T_top - L_top > 2^n, a task for each
 * node. Here a node of capacity w stands for w tasks, and the rule must hold for
 * as long as a grant may live: until then the load that is missing can be on its
 * way. Rounding leaves less than a task for each member above L, so a change
 * never makes its own reason for the next; and it is only made where the floors
 * leave something to lower.
 */
void eh_threshold_relax(struct eh_group *group, uint64_t now, eh_emit_fn emit, void *ctx)
{
	struct eh_sums sums;
	uint64_t slack;
	bool low = false;

	eh_group_sums(group, &sums);
	slack = (uint64_t)sums.members * EH_TASK;
	if (slack < sums.capacity)
		slack = sums.capacity;
	if (sums.threshold > sums.load && sums.threshold - sums.load > slack)
		for (unsigned int i = 0; i < group->size && !low; i++) {
			const struct member *m = &group->members[i];

			low = m->present && share(m, &sums) < m->threshold;
		}
	if (!low) {
		group->calm = false;
	} else if (!group->calm) {
		group->calm = true;
		group->calm_since = now;
	}
	if (group->calm && now - group->calm_since >= group->options.grant_ms)
		eh_threshold_modify(group, emit, ctx);
}
