// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports of a member to its parent: merged and damped, one at a time. */
#include "report.h"

/* Load that changes by less is noise, however small it was before. */
#define REPORT_NOISE (EH_TASK / 20)

/* The most that a report may say of a number of nodes; grants may add more. */
static uint64_t report_most(uint32_t nodes)
{
	return nodes < EH_VALUE_MAX / EH_NODE_MAX ? nodes * EH_NODE_MAX : EH_VALUE_MAX;
}

bool eh_report_is_possible(const struct eh_report *r)
{
	uint64_t most = report_most(r->nodes);

	return r->nodes && r->capacity && r->capacity <= most && r->load <= most &&
	       r->threshold <= most && r->length <= most && r->floor <= most;
}

static uint64_t report_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

size_t eh_report_level(const struct eh_member *m, unsigned int level, struct eh_report *out,
		       struct eh_candidate best[EH_BEST_MAX])
{
	const struct eh_group *group = m->lead[level].group;
	struct eh_sums sums;
	uint64_t most;

	if (!level) {
		*out = m->own;
		return 0;
	}
	eh_group_sums(group, &sums);
	most = report_most(sums.nodes);
	*out = (struct eh_report){ .load = report_least(sums.load, most),
				   .threshold = report_least(sums.threshold, most),
				   .length = sums.length,
				   .floor = sums.floor,
				   .capacity = sums.capacity,
				   .nodes = sums.nodes,
				   .dwell = sums.dwell };
	if (!best)
		return 0;
	return eh_group_best(group, role_group(m, m->options.self, 1) << m->options.topology.n,
			     best);
}

/*
 * A node's load: by a tenth or a task. The load of a group of N nodes: by sqrt(N) tasks, as the sum
 * of N loads moves while each of them moves by one. So a controller hears from a child as often if
 * it is a node as if it leads a thousand, and the top's traffic does not grow with the cluster.
 */
static bool report_load_matters(const struct eh_report *old, const struct eh_report *new)
{
	uint64_t moved = old->load > new->load ? old->load - new->load : new->load - old->load;

	if (new->nodes > 1)
		return (unsigned __int128)moved * moved >=
		       (unsigned __int128)new->nodes *EH_TASK *EH_TASK;
	return moved >= EH_TASK || (moved >= REPORT_NOISE && moved * 10 >= old->load);
}

/* A change of state or thresholds, or a load that moved enough. */
static bool report_matters(const struct eh_report *old, const struct eh_report *new)
{
	return eh_report_state(old) != eh_report_state(new) || old->threshold != new->threshold ||
	       old->length != new->length || old->floor != new->floor ||
	       old->capacity != new->capacity || old->nodes != new->nodes ||
	       old->draining != new->draining || report_load_matters(old, new);
}

void eh_report_send(struct eh_member *m, uint32_t to)
{
	struct eh_message msg = {
		.type = EH_MSG_REPORT,
		.level = m->rank + 1,
		.report = { .seen = m->seen, .nseen = m->nseen },
	};

	msg.report.nbest = eh_report_level(m, m->rank, &msg.report.own, msg.report.best);
	if (to == m->parent) {
		m->told = msg.report.own;
		m->told_at = m->now;
		m->due = false;
		m->under_way = true;
	}
	eh_member_send(m, to, &msg);
	/* If it is lost: grants end by themselves, this only makes it sooner. */
	if (to == m->parent)
		m->nseen = 0;
}

void eh_report_due(struct eh_member *m, bool always)
{
	struct eh_report now;

	if (!m->attached)
		return;
	if (!always) {
		eh_report_level(m, m->rank, &now, NULL);
		if (!report_matters(&m->told, &now))
			return;
	}
	/* One at a time: what comes meanwhile is merged into the next. */
	if (m->under_way && !always)
		m->due = true;
	else
		eh_report_send(m, m->parent);
}

void eh_report_answered(struct eh_member *m)
{
	m->under_way = false;
	if (m->due) {
		m->due = false;
		eh_report_due(m, false);
	}
}
