// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Thresholds follow the total load L: T_i is the child's share by capacity, but
 * at least its floor. Theorems 4.1 (the sum of T_i is at least L, so the group
 * is not a sender) and, where no floor is in force and each length is a task or
 * more, 4.2 (each T_i is less than a task above its share of L, so it is no
 * receiver) hold for any capacities.
 */
#include "threshold.h"

static uint64_t threshold_share(const struct group_member *m, const struct eh_rule *rule)
{
	uint64_t tasks = eh_share(rule->load, m->own.capacity, rule->capacity);

	return tasks > m->own.floor ? tasks : m->own.floor;
}

/* All are told, also those that keep theirs, so that all are in one epoch. */
void eh_threshold_apply(struct eh_group *group, const struct eh_rule *rule, eh_emit_fn emit,
			void *ctx)
{
	group->calm = false;
	group->epoch = rule->epoch;
	for (unsigned int i = 0; i < group->size; i++) {
		struct group_member *m = &group->members[i];

		if (!m->present)
			continue;
		m->own.threshold = threshold_share(m, rule);
		/* Their reports will tell the exact ones; the sum of their nodes' may be a little more. */
		for (unsigned int j = 0; j < m->nbest; j++)
			m->best[j].threshold = m->own.threshold / m->own.nodes;
		emit(ctx, &(struct eh_update){ .type = EH_UP_THRESHOLD,
					       .child = i,
					       .threshold = m->own.threshold,
					       .length = m->own.length,
					       .epoch = rule->epoch,
					       .rule = *rule });
	}
}

void eh_threshold_modify(struct eh_group *group, eh_emit_fn emit, void *ctx)
{
	struct eh_rule rule;
	struct eh_sums sums;

	eh_group_sums(group, &sums);
	rule = (struct eh_rule){ eh_threshold_next(group->epoch), sums.load, sums.capacity };
	eh_threshold_apply(group, &rule, emit, ctx);
}

/*
 * The paper lowers thresholds as soon as T_top - L_top > 2^nl, a task for each
 * node. Here a node of capacity w stands for w tasks, and the rule must hold for
 * calm_ms: until then the missing load can be on its way. Rounding leaves less
 * than a task for each member above L, so a change is never the reason for the
 * next one. There is no change where the floors leave nothing to lower.
 */
void eh_threshold_relax(struct eh_group *group, uint64_t now, eh_emit_fn emit, void *ctx)
{
	struct eh_rule rule;
	struct eh_sums sums;
	uint64_t slack;
	bool low = false;

	if (group->options.below)
		return;
	eh_group_sums(group, &sums);
	rule = (struct eh_rule){ 0, sums.load, sums.capacity };
	slack = (uint64_t)sums.nodes * EH_TASK;
	if (slack < sums.capacity)
		slack = sums.capacity;
	if (sums.threshold > sums.load && sums.threshold - sums.load > slack)
		for (unsigned int i = 0; i < group->size && !low; i++) {
			const struct group_member *m = &group->members[i];

			low = m->present && threshold_share(m, &rule) < m->own.threshold;
		}
	if (!low) {
		group->calm = false;
	} else if (!group->calm) {
		group->calm = true;
		group->calm_since = now;
	}
	if (group->calm && now - group->calm_since >= group->options.calm_ms)
		eh_threshold_modify(group, emit, ctx);
}
