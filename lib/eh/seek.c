// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A member's search for a parent: the lower nodes of its group are asked, of
 * each child of the group the lowest first, until one leads it or tells which
 * node does. When none of them answers this node leads it.
 */
#include "seek.h"

#include "known.h"
#include "lead.h"
#include "report.h"

static uint32_t seek_step_ms(const struct eh_member *m)
{
	return m->options.heartbeat_ms / 8 + 1;
}

/* A node that was asked and is silent for this long does not live. */
static uint32_t seek_wait_ms(const struct eh_member *m)
{
	return m->options.heartbeat_ms;
}

static bool seek_is_seeking(const struct eh_member *m)
{
	return m->rank < role_top(m) && !m->attached;
}

static void seek_ask(struct eh_member *m, struct known *k)
{
	k->asked = true;
	k->asked_at = m->now;
	k->again_at = 0;
	eh_report_send(m, k->node);
}

void eh_seek_begin(struct eh_member *m, uint32_t first)
{
	struct known *k;

	role_part(m);
	m->under_way = m->due = false;
	m->seek_round = 0;
	m->seek_at = m->now;
	for (size_t i = 0; i < m->nknown; i++) {
		m->known[i].asked = false;
		m->known[i].again_at = 0;
		m->known[i].failed = m->known[i].suspect_until > m->now;
	}
	if (!seek_is_seeking(m))
		return;
	eh_member_role(m);
	k = first == EH_NO_NODE ? NULL : eh_known_find(m, first);
	if (k && role_together(m, first, m->rank + 1) && first < m->options.self) {
		k->failed = false;
		m->seek_at = m->now + seek_step_ms(m);
		seek_ask(m, k);
	} else {
		eh_seek_step(m);
	}
}

/* Whether this one is alive, or may be. `next`: whether the one after it in its child may be asked. */
static bool seek_one(struct eh_member *m, struct known *k, bool *may_ask, bool *next)
{
	*next = true;
	if (k->failed)
		return false;
	if (k->asked && !k->again_at && m->now - k->asked_at > seek_wait_ms(m)) {
		eh_known_suspect(m, k->node);
		return false;
	}
	if (k->asked && (!k->again_at || m->now < k->again_at)) {
		/* one that is silent does not hold up the others of its child until it is given up */
		*next = !k->again_at && m->now - k->asked_at > 2 * seek_step_ms(m);
		return true;
	}
	*next = false;
	if (*may_ask) {
		/* In a small group asking one after the other is soon enough, and saves links. */
		*may_ask = m->rank && m->seek_round;
		seek_ask(m, k);
	}
	return true;
}

static void seek_promote(struct eh_member *m)
{
	if (eh_lead_promote(m))
		m->no_memory = true;
	else if (m->rank == role_top(m))
		eh_member_role(m);
	else
		eh_seek_begin(m, EH_NO_NODE);
}

void eh_seek_step(struct eh_member *m)
{
	unsigned int level = m->rank + 1, own, busy = EH_NO_CHILD;
	bool may_ask = true, alive = false, next;
	uint32_t first;

	if (!seek_is_seeking(m) || m->now < m->seek_at)
		return;
	m->seek_at = m->now + seek_step_ms(m);
	own = role_digit(m, m->options.self, level);
	first = role_group(m, m->options.self, level) << (m->options.topology.n * level);
	for (size_t i = eh_known_place(m, first); i < m->nknown; i++) {
		struct known *k = &m->known[i];
		unsigned int digit;

		if (!role_together(m, k->node, level))
			break;
		digit = role_digit(m, k->node, level);
		if (digit >= own)
			break;
		if (digit == busy)
			continue;
		alive |= seek_one(m, k, &may_ask, &next);
		if (!next)
			busy = digit;
	}
	m->seek_round++;
	if (!alive)
		seek_promote(m);
}

void eh_seek_on_order(struct eh_member *m, uint32_t from, const struct eh_message *msg)
{
	if (msg->level != m->rank + 1 || m->rank == role_top(m))
		return;
	if (m->attached && from == m->parent) {
		m->heard = m->now;
		eh_report_answered(m);
		return;
	}
	if ((m->attached && from > m->parent) || from > m->options.self)
		return;
	role_part(m);
	m->parent = from;
	m->attached = true;
	m->heard = m->told_at = m->now;
	m->under_way = m->due = false;
	eh_report_level(m, m->rank, &m->told, NULL);
	eh_member_role(m);
}

void eh_seek_on_redirect(struct eh_member *m, uint32_t from, const struct eh_message *msg)
{
	uint32_t to = msg->redirect.to;
	unsigned int level = msg->level;
	struct known *k;

	if (level <= m->rank) {
		/* another node leads a group that we lead */
		uint32_t child = m->lead[level].slots[role_digit(m, to, level)].node;

		if (to != m->options.self && to != child && role_together(m, to, level))
			eh_member_send(
				m, to,
				&(struct eh_message){ .type = EH_MSG_CLAIM, .level = level });
		return;
	}
	if (level != m->rank + 1 || (m->attached && from != m->parent) ||
	    !role_together(m, to, level))
		return;
	k = eh_known_find(m, from);
	if (to == m->options.self) {
		/* said by one that was asked; any other has no reason to */
		if (!m->attached && !(k && k->asked))
			return;
		seek_promote(m);
		return;
	}
	if (m->attached) {
		eh_seek_begin(m, to);
		return;
	}
	if (k) {
		/* it lives: it is asked again unless another takes us before */
		k->asked = true;
		k->failed = false;
		k->again_at = m->now + seek_step_ms(m);
	}
	if (to == from || to > m->options.self)
		return;
	if (eh_known_add(m, to)) {
		m->no_memory = true;
		return;
	}
	k = eh_known_find(m, to);
	if (k->suspect_until <= m->now && (!k->asked || k->again_at)) {
		k->failed = false;
		seek_ask(m, k);
	}
}

void eh_seek_on_claim(struct eh_member *m, uint32_t from, const struct eh_message *msg)
{
	uint32_t self = m->options.self;
	unsigned int level = 1;

	while (!role_together(m, from, level))
		if (++level > msg->level)
			return;
	if (m->rank >= level) {
		if (from < self) {
			eh_lead_demote(m, level - 1, from);
			eh_seek_begin(m, from);
			return;
		}
		eh_member_send(m, from,
			       &(struct eh_message){ .type = EH_MSG_CLAIM, .level = level });
	} else if (m->attached && m->parent < from) {
		eh_member_redirect(m, from, msg->level, m->parent);
	} else if (m->rank < level - 1) {
		if (m->attached)
			eh_member_redirect(m, from, msg->level, m->parent);
	} else if (m->attached && m->parent == from) {
		eh_report_due(m, true);
	} else if (from < self) {
		eh_seek_begin(m, from);
	}
}

/* The parent is gone, or one that was asked. */
void eh_seek_gone(struct eh_member *m, uint32_t node)
{
	struct known *k = eh_known_find(m, node);

	if (m->attached && node == m->parent) {
		eh_seek_begin(m, EH_NO_NODE);
	} else if (seek_is_seeking(m) && k && k->asked) {
		k->failed = true;
		m->seek_at = m->now;
		eh_seek_step(m);
	}
}
