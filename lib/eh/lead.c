// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A member as controller: one struct eh_group for each level that it leads. The
 * sums of a level are a child's report to the next one.
 */
#include "lead.h"

#include <errno.h>
#include <stdlib.h>

#include "known.h"
#include "report.h"

/* Claims that are sent in a heartbeat for one level. */
#define LEAD_CLAIMS 2

static unsigned int lead_width(const struct eh_member *m)
{
	return 1u << m->options.topology.n;
}

void eh_lead_free(struct lead *lead)
{
	eh_group_free(lead->group);
	free(lead->slots);
	*lead = (struct lead){ 0 };
}

/* ---- events for a group ---- */

struct lead_result {
	struct eh_update *outcome;
	struct eh_rule rule;
};

static void lead_on_update(void *ctx, const struct eh_update *up)
{
	struct lead_result *result = ctx;

	if (up->type == EH_UP_THRESHOLD)
		result->rule = up->rule;
	else if (result->outcome)
		*result->outcome = *up;
}

int eh_lead_step(struct eh_member *m, unsigned int level, const struct eh_event *event,
		 struct eh_update *outcome)
{
	struct lead_result result = { .outcome = outcome };
	int err = eh_group_step(m->lead[level].group, event, m->now, lead_on_update, &result);

	if (err == -ENOMEM)
		m->no_memory = true;
	/* only the top decides one that we do not have yet */
	eh_lead_adopt(m, &result.rule);
	return err;
}

/* Enters a child's report. `trust`: its threshold is by our rule, or set by its user. */
static void lead_take(struct eh_member *m, unsigned int level, unsigned int digit,
		      const struct eh_report *r, bool trust, const struct eh_event_report *more)
{
	struct eh_event event = { .type = EH_EV_REPORT, .child = digit, .report = *more };
	struct eh_child c;
	bool known = !eh_group_child(m->lead[level].group, digit, &c);

	if (!known || c.own.capacity != r->capacity || c.own.floor != r->floor ||
	    c.own.nodes != r->nodes ||
	    (trust && (c.own.threshold != r->threshold || c.own.length != r->length))) {
		struct eh_event join = { .type = EH_EV_JOIN, .child = digit, .join = *r };

		if (known && !trust)
			join.join.threshold = c.own.threshold;
		eh_lead_step(m, level, &join, NULL);
	}
	if (known ? c.own.draining != r->draining : r->draining)
		eh_lead_step(m, level,
			     &(struct eh_event){ .type = EH_EV_DRAIN,
						 .child = digit,
						 .drain = { r->draining } },
			     NULL);
	event.report.load = r->load;
	event.report.dwell = r->dwell;
	eh_lead_step(m, level, &event, NULL);
}

static void lead_note_seen(struct eh_member *m, const uint64_t *seen, size_t nseen)
{
	/* grants of those that do not fit expire by themselves */
	for (size_t i = 0; i < nseen && m->nseen < EH_SEEN_MAX; i++)
		m->seen[m->nseen++] = seen[i];
}

void eh_lead_own(struct eh_member *m, unsigned int level, const uint64_t *seen, size_t nseen)
{
	for (; level < m->rank; level++) {
		struct eh_candidate best[EH_BEST_MAX];
		struct eh_event_report more = { .seen = seen, .nseen = nseen, .best = best };
		struct eh_report r;

		more.nbest = eh_report_level(m, level, &r, best);
		lead_take(m, level + 1, role_digit(m, m->options.self, level + 1), &r, true, &more);
	}
	if (m->rank < role_top(m))
		lead_note_seen(m, seen, nseen);
}

void eh_lead_tell_all(struct eh_member *m, unsigned int level, struct eh_message *message)
{
	message->level = level;
	for (unsigned int i = 0; i < lead_width(m); i++) {
		uint32_t child = m->lead[level].slots[i].node;

		if (child != EH_NO_NODE && child != m->options.self)
			eh_member_send(m, child, message);
	}
}

static bool lead_is_same(const struct eh_rule *a, const struct eh_rule *b)
{
	return a->epoch == b->epoch && a->load == b->load && a->capacity == b->capacity;
}

void eh_lead_adopt(struct eh_member *m, const struct eh_rule *rule)
{
	uint64_t threshold;

	if (!rule->capacity || lead_is_same(rule, &m->rule))
		return;
	m->rule = *rule;
	m->behind = false;
	threshold = eh_share(rule->load, m->own.capacity, rule->capacity);
	if (threshold > EH_NODE_MAX)
		threshold = EH_NODE_MAX;
	if (threshold < m->own.floor)
		threshold = m->own.floor;
	m->own.threshold = threshold;
	m->emit(m->ctx, &(struct eh_member_update){
				.type = EH_MU_THRESHOLD, .threshold = threshold, .rule = *rule });
	for (unsigned int level = 1; level <= m->rank; level++) {
		struct eh_sums sums;

		/* the top's own group has it already when the rule is its decision */
		eh_group_sums(m->lead[level].group, &sums);
		if (level < role_top(m) || sums.epoch != rule->epoch)
			eh_lead_step(m, level,
				     &(struct eh_event){ .type = EH_EV_RULE, .rule = *rule }, NULL);
	}
	eh_lead_own(m, 0, NULL, 0);
	if (!m->options.lazy)
		for (unsigned int level = m->rank; level; level--)
			eh_lead_tell_all(m, level, &(struct eh_message){ .type = EH_MSG_ORDER });
}

/* ---- levels ---- */

int eh_lead_promote(struct eh_member *m)
{
	unsigned int level = m->rank + 1;
	struct lead lead = { .slots = malloc(lead_width(m) * sizeof(*lead.slots)) };

	lead.group = eh_group_new(&(struct eh_group_options){
		.n = m->options.topology.n,
		.groups = level > 1,
		.below = level < role_top(m),
		.least = m->options.least,
		.grant_ms = m->options.grant_ms,
		.calm_ms = m->options.calm_ms,
		.seed = m->options.seed + level,
	});
	if (!lead.slots || !lead.group) {
		eh_lead_free(&lead);
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < lead_width(m); i++)
		lead.slots[i] = (struct slot){ EH_NO_NODE, 0, EH_NO_NODE };
	lead.slots[role_digit(m, m->options.self, level)].node = m->options.self;
	m->lead[level] = lead;
	m->rank = level;
	role_part(m);
	if (m->rule.capacity)
		eh_lead_step(m, level, &(struct eh_event){ .type = EH_EV_RULE, .rule = m->rule },
			     NULL);
	eh_lead_own(m, level - 1, NULL, 0);
	/* nodes that look for a parent find us; the others are claimed after they had time for that */
	m->claim_at = m->now + m->options.heartbeat_ms / 2;
	return 0;
}

void eh_lead_demote(struct eh_member *m, unsigned int rank, uint32_t to)
{
	unsigned int level = m->rank;

	/* before anything is sent, as answers find the new rank */
	m->rank = rank;
	for (; level > rank; level--) {
		eh_lead_tell_all(
			m, level,
			&(struct eh_message){ .type = EH_MSG_REDIRECT, .redirect = { to } });
		eh_lead_free(&m->lead[level]);
	}
}

static void lead_tell(struct eh_member *m, uint32_t node, unsigned int level, bool gone)
{
	m->emit(m->ctx, &(struct eh_member_update){
				.type = EH_MU_CHILD, .node = node, .rank = level, .gone = gone });
}

void eh_lead_on_report(struct eh_member *m, uint32_t from, const struct eh_message *msg)
{
	const struct eh_message_report *report = &msg->report;
	unsigned int level = msg->level, digit = role_digit(m, from, level);
	uint32_t self = m->options.self;
	struct slot *slot;

	if (!role_together(m, from, level))
		return;
	if (from < self && (m->rank >= level || !m->attached)) {
		eh_member_redirect(m, from, level, from); /* it is for you to lead */
		return;
	}
	if (m->rank < level) {
		eh_member_redirect(m, from, level, m->attached ? m->parent : self);
		return;
	}
	if (digit == role_digit(m, self, level)) {
		/* it leads the group below, as we do */
		eh_member_redirect(m, from, level - 1, self);
		return;
	}
	slot = &m->lead[level].slots[digit];
	if (slot->node != EH_NO_NODE && slot->node != from) {
		if (slot->node < from) {
			eh_member_redirect(m, from, level - 1, slot->node);
			return;
		}
		eh_member_redirect(m, slot->node, level - 1, from);
	}
	if (slot->node != from)
		lead_tell(m, from, level, false);
	slot->node = from;
	slot->heard = m->now;
	lead_take(m, level, digit, &report->own, msg->rule.epoch == m->rule.epoch,
		  &(struct eh_event_report){ .seen = report->seen,
					     .nseen = report->nseen,
					     .best = report->best,
					     .nbest = report->nbest });
	eh_lead_own(m, level, report->seen, report->nseen);
	eh_member_send(m, from, &(struct eh_message){ .type = EH_MSG_ORDER, .level = level });
}

void eh_lead_gone(struct eh_member *m, uint32_t node)
{
	for (unsigned int level = 1; level <= m->rank; level++) {
		unsigned int digit = role_digit(m, node, level);
		struct slot *slot = &m->lead[level].slots[digit];

		if (!role_together(m, node, level) || slot->node != node)
			continue;
		slot->node = EH_NO_NODE;
		lead_tell(m, node, level, true);
		eh_lead_step(m, level, &(struct eh_event){ .type = EH_EV_LEAVE, .child = digit },
			     NULL);
		eh_lead_own(m, level, NULL, 0);
	}
}

void eh_lead_expire(struct eh_member *m)
{
	for (unsigned int level = 1; level <= m->rank; level++) {
		for (unsigned int i = 0; i < lead_width(m); i++) {
			struct slot *slot = &m->lead[level].slots[i];

			if (slot->node == EH_NO_NODE || slot->node == m->options.self ||
			    m->now - slot->heard <= 3ull * m->options.heartbeat_ms)
				continue;
			eh_known_suspect(m, slot->node);
			eh_lead_gone(m, slot->node);
		}
		eh_lead_step(m, level, &(struct eh_event){ .type = EH_EV_TICK }, NULL);
	}
	eh_lead_own(m, 0, NULL, 0);
}

/* ---- claims: nodes that do not report to us may follow another ---- */

/* The known node of a child to be claimed next, or NULL. */
static const struct known *lead_next(const struct eh_member *m, unsigned int level,
				     unsigned int digit, uint32_t after)
{
	const struct known *first = NULL;

	for (size_t i = 0; i < m->nknown; i++) {
		const struct known *k = &m->known[i];

		if (!role_together(m, k->node, level) || role_digit(m, k->node, level) != digit ||
		    k->suspect_until > m->now)
			continue;
		if (after == EH_NO_NODE || k->node > after)
			return k;
		if (!first)
			first = k;
	}
	return first;
}

/* A few at a time: after a start of all nodes most report by themselves, and links cost. */
static void lead_claim_level(struct eh_member *m, unsigned int level)
{
	struct lead *lead = &m->lead[level];
	unsigned int budget = LEAD_CLAIMS, first = lead->claim;

	for (unsigned int i = 0; i < lead_width(m) && budget; i++) {
		unsigned int digit = (first + i) % lead_width(m);
		struct slot *slot = &lead->slots[digit];
		const struct known *k = NULL;

		if (slot->node == EH_NO_NODE)
			k = lead_next(m, level, digit, slot->claimed);
		if (!k)
			continue;
		slot->claimed = k->node;
		lead->claim = digit + 1;
		budget--;
		eh_member_send(m, k->node,
			       &(struct eh_message){ .type = EH_MSG_CLAIM, .level = level });
	}
}

void eh_lead_claim(struct eh_member *m)
{
	for (unsigned int level = 1; level <= m->rank; level++)
		lead_claim_level(m, level);
}
