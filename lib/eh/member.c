// SPDX-License-Identifier: GPL-2.0-or-later
/* A member of the hierarchy: its events, its own values, the rule in force. */
#include "member.h"

#include <errno.h>
#include <stdlib.h>

#include "ask.h"
#include "known.h"
#include "lead.h"
#include "may.h"
#include "report.h"
#include "role.h"
#include "seek.h"

const char *eh_message_name(enum eh_message_type type)
{
	static const char *const names[EH_MSG_TYPES] = { "report", "order", "redirect", "claim",
							 "leave",  "ask",   "answer",	"failed" };

	return names[type];
}

struct eh_member *eh_member_new(const struct eh_member_options *options)
{
	const struct eh_topology *t = &options->topology;
	struct eh_member *m;

	if (!t->n || !t->l || t->n > EH_N_MAX || t->l > EH_LEVELS_MAX ||
	    t->n * t->l > EH_BITS_MAX || options->self >> (t->n * t->l) || !options->heartbeat_ms)
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->options = *options;
	m->parent = m->former = EH_NO_NODE;
	m->own = (struct eh_report){ .capacity = EH_TASK, .nodes = 1 };
	return m;
}

void eh_member_free(struct eh_member *m)
{
	if (!m)
		return;
	for (unsigned int level = 1; level <= m->rank; level++)
		eh_lead_free(&m->lead[level]);
	free(m->known);
	free(m);
}

/*
 * The rule comes down from the top: only the parent's word counts. So no member changes the
 * thresholds of others than those below it, and whatever epoch was said, the top's next rule
 * supersedes it. An older one than ours may have been overtaken on its way; if the parent goes on
 * to say it, that is what it means: it is back from elsewhere, or has begun to count again.
 */
static void member_follow(struct eh_member *m, const struct eh_rule *rule)
{
	if (rule->capacity && rule->epoch < m->rule.epoch) {
		if (!m->behind)
			m->behind_since = m->now;
		m->behind = true;
		if (m->now - m->behind_since < m->options.heartbeat_ms / 2)
			return;
	}
	m->behind = false;
	eh_lead_adopt(m, rule);
}

static bool member_is_parent(const struct eh_member *m, uint32_t node)
{
	return m->attached && m->parent == node;
}

/* A controller that has just started has no rule: its children know what was in force. */
static bool member_may_remind(const struct eh_member *m, uint32_t from,
			      const struct eh_message *msg)
{
	return !m->rule.capacity && msg->type == EH_MSG_REPORT && msg->level <= m->rank &&
	       from > m->options.self && role_together(m, from, msg->level);
}

static bool member_node_is_valid(const struct eh_member *m, uint32_t node)
{
	return !(node >> (m->options.topology.n * m->options.topology.l));
}

static bool member_probe_is_valid(const struct eh_member *m, const struct eh_probe *probe)
{
	return member_node_is_valid(m, probe->node) && probe->level <= role_top(m);
}

static bool member_report_is_valid(const struct eh_member *m, unsigned int level,
				   const struct eh_message_report *r)
{
	if (r->nbest > EH_BEST_MAX || r->nseen > EH_SEEN_MAX ||
	    r->own.nodes > 1u << (m->options.topology.n * (level - 1)))
		return false;
	for (size_t i = 0; i < r->nbest; i++)
		if (!member_node_is_valid(m, r->best[i].node) || r->best[i].load > EH_VALUE_MAX ||
		    r->best[i].threshold > EH_VALUE_MAX || r->best[i].length > EH_VALUE_MAX)
			return false;
	return eh_report_is_possible(&r->own);
}

static bool member_lists_are_valid(const struct eh_member *m, const struct eh_message_ask *ask)
{
	if (ask->ntried > EH_TRIED_MAX || ask->npath > EH_ROUTE_MAX || ask->nroute > EH_ROUTE_MAX)
		return false;
	for (size_t i = 0; i < ask->nroute; i++)
		if (!member_node_is_valid(m, ask->route[i]))
			return false;
	/* a failure is told to the last of them */
	for (size_t i = 0; i < ask->npath; i++)
		if (!member_probe_is_valid(m, &ask->path[i]))
			return false;
	return true;
}

static bool member_ask_is_valid(const struct eh_member *m, const struct eh_message_ask *ask)
{
	return member_lists_are_valid(m, ask) && ask->nroute < EH_ROUTE_MAX &&
	       member_node_is_valid(m, ask->home) && ask->size <= EH_SIZE_MAX &&
	       ask->probes <= EH_PROBES_MAX && eh_report_is_possible(&ask->at_home);
}

static bool member_rule_is_valid(const struct eh_rule *rule)
{
	return rule->load <= EH_VALUE_MAX && rule->capacity <= EH_VALUE_MAX &&
	       rule->epoch <= EH_EPOCH_MAX && (rule->epoch || !rule->capacity);
}

static bool member_message_is_valid(const struct eh_member *m, const struct eh_message *msg)
{
	if (!msg->level || msg->level > role_top(m) || !member_rule_is_valid(&msg->rule))
		return false;
	switch (msg->type) {
	case EH_MSG_REPORT:
		return member_report_is_valid(m, msg->level, &msg->report);
	case EH_MSG_REDIRECT:
		return member_node_is_valid(m, msg->redirect.to);
	case EH_MSG_ASK:
		return member_ask_is_valid(m, &msg->ask);
	case EH_MSG_ANSWER:
		return member_lists_are_valid(m, &msg->answer.ask) &&
		       (msg->answer.to == EH_NO_NODE || member_node_is_valid(m, msg->answer.to));
	case EH_MSG_FAILED:
		return member_node_is_valid(m, msg->failed.to);
	default:
		return true;
	}
}

static void member_on_message(struct eh_member *m, uint32_t from, const struct eh_message *msg)
{
	eh_known_alive(m, from);
	if (member_is_parent(m, from))
		member_follow(m, &msg->rule);
	else if (member_may_remind(m, from, msg))
		eh_lead_adopt(m, &msg->rule);
	switch (msg->type) {
	case EH_MSG_REPORT:
		eh_lead_on_report(m, from, msg);
		break;
	case EH_MSG_ORDER:
		eh_seek_on_order(m, from, msg);
		/* it may be the parent by this order */
		if (member_is_parent(m, from))
			member_follow(m, &msg->rule);
		break;
	case EH_MSG_REDIRECT:
		eh_seek_on_redirect(m, from, msg);
		break;
	case EH_MSG_CLAIM:
		eh_seek_on_claim(m, from, msg);
		break;
	case EH_MSG_LEAVE:
		eh_known_suspect(m, from);
		eh_lead_gone(m, from);
		eh_seek_gone(m, from);
		break;
	case EH_MSG_ASK:
		eh_ask_on_ask(m, from, msg);
		break;
	case EH_MSG_ANSWER:
		if (eh_may_answer(m, from))
			eh_ask_on_answer(m, msg);
		break;
	case EH_MSG_FAILED:
		eh_ask_failed(m, msg->failed.id, msg->failed.to,
			      &(struct eh_probe){ .level = msg->level, .node = m->options.self });
		break;
	}
}

static void member_on_tick(struct eh_member *m)
{
	eh_lead_expire(m);
	if (m->attached && m->now - m->heard > 3ull * m->options.heartbeat_ms) {
		uint32_t lost = m->parent;

		eh_known_suspect(m, lost);
		eh_seek_gone(m, lost);
	}
	eh_seek_step(m);
	if (m->now >= m->claim_at) {
		m->claim_at = m->now + m->options.heartbeat_ms;
		eh_lead_claim(m);
	}
	eh_report_due(m, m->now - m->told_at >= m->options.heartbeat_ms);
}

static void member_leave(struct eh_member *m)
{
	struct eh_message bye = { .type = EH_MSG_LEAVE, .level = 1 };

	if (m->parent != EH_NO_NODE)
		eh_member_send(m, m->parent, &bye);
	for (unsigned int level = 1; level <= m->rank; level++)
		eh_lead_tell_all(m, level, &bye);
}

/* The other node that an event is about; our own number where there is none. */
static uint32_t member_node_of(const struct eh_member *m, const struct eh_member_event *event)
{
	switch (event->type) {
	case EH_ME_KNOWN:
	case EH_ME_UNKNOWN:
	case EH_ME_GONE:
		return event->node;
	case EH_ME_MESSAGE:
		return event->message.from;
	default:
		return m->options.self;
	}
}

int eh_member_step(struct eh_member *m, const struct eh_member_event *event, uint64_t now,
		   eh_member_emit_fn emit, void *ctx)
{
	uint32_t node = member_node_of(m, event);
	struct eh_report own;
	int err = 0;

	if (event->type >= EH_ME_KNOWN && event->type <= EH_ME_MESSAGE &&
	    (!member_node_is_valid(m, node) || node == m->options.self))
		return -EINVAL;
	m->now = now;
	m->emit = emit;
	m->ctx = ctx;
	m->no_memory = false;
	switch (event->type) {
	case EH_ME_TICK:
		member_on_tick(m);
		break;
	case EH_ME_KNOWN:
		err = eh_known_add(m, node);
		break;
	case EH_ME_UNKNOWN:
		eh_lead_gone(m, node);
		eh_seek_gone(m, node);
		eh_known_remove(m, node);
		break;
	case EH_ME_GONE:
		eh_known_suspect(m, node);
		eh_lead_gone(m, node);
		eh_seek_gone(m, node);
		break;
	case EH_ME_MESSAGE:
		if (!member_message_is_valid(m, event->message.body))
			return -EINVAL;
		if (!eh_may_say(m, node, event->message.body))
			return -EPERM;
		err = eh_known_add(m, node);
		if (!err)
			member_on_message(m, node, event->message.body);
		break;
	case EH_ME_LOAD:
		own = event->load.own;
		own.nodes = 1;
		if (!eh_report_is_possible(&own) || event->load.nseen > EH_SEEN_MAX)
			return -EINVAL;
		m->own = own;
		eh_lead_own(m, 0, event->load.seen, event->load.nseen);
		break;
	case EH_ME_ASK:
		if (event->ask.size > EH_SIZE_MAX)
			return -EINVAL;
		eh_ask_own(m, &event->ask);
		break;
	case EH_ME_FAILED:
		if (!member_node_is_valid(m, event->failed.to) ||
		    !member_probe_is_valid(m, &event->failed.decider))
			return -EINVAL;
		eh_ask_failed(m, event->failed.id, event->failed.to, &event->failed.decider);
		break;
	case EH_ME_LEAVE:
		member_leave(m);
		break;
	default:
		return -EINVAL;
	}
	if (event->type != EH_ME_LEAVE)
		eh_report_due(m, false);
	return err ? err : m->no_memory ? -ENOMEM : 0;
}

unsigned int eh_member_rank(const struct eh_member *m)
{
	return m->rank;
}

uint32_t eh_member_parent(const struct eh_member *m)
{
	return m->attached ? m->parent : EH_NO_NODE;
}

struct eh_rule eh_member_rule(const struct eh_member *m)
{
	return m->rule;
}

int eh_member_sums(const struct eh_member *m, unsigned int level, struct eh_sums *out)
{
	if (!level || level > m->rank)
		return -ENOENT;
	eh_group_sums(m->lead[level].group, out);
	return 0;
}

int eh_member_child(const struct eh_member *m, unsigned int level, unsigned int digit,
		    struct eh_child *out, uint32_t *node)
{
	if (!level || level > m->rank || digit >> m->options.topology.n ||
	    eh_group_child(m->lead[level].group, digit, out))
		return -ENOENT;
	*node = m->lead[level].slots[digit].node;
	return 0;
}
