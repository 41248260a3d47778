// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A placement's way: from home up to the first controller whose group can take
 * the task, and back. Controllers name their best nodes in their reports, so
 * the one that decides names the node and no message goes down. The message
 * itself holds the answer's way, so no member remembers an ask.
 */
#include "ask.h"
#include "lead.h"

/* To home, or one step of the way there. */
static void ask_answer(struct eh_member *m, struct eh_message *msg)
{
	struct eh_message_ask *ask = &msg->answer.ask;

	if (ask->nroute) {
		eh_member_send(m, ask->route[--ask->nroute], msg);
		return;
	}
	msg->rule = m->rule;
	m->emit(m->ctx, &(struct eh_member_update){ .type = EH_MU_ANSWER, .message = msg });
}

/* Answers an ask; its message becomes the answer. */
static void ask_answer_to(struct eh_member *m, struct eh_message *msg, uint32_t to, enum eh_why why)
{
	const struct eh_message_ask ask = msg->ask;

	msg->type = EH_MSG_ANSWER;
	msg->answer = (struct eh_message_answer){ .ask = ask, .to = to, .why = why };
	ask_answer(m, msg);
}

static void ask_answer_none(struct eh_member *m, struct eh_message *msg, enum eh_why why)
{
	ask_answer_to(m, msg, EH_NO_NODE, why);
}

/* Handles an arrival in the group of this level. Returns whether that has decided it. */
static bool ask_group(struct eh_member *m, unsigned int level, uint32_t from,
		      struct eh_message *msg)
{
	uint32_t first = role_group(m, m->options.self, 1) << m->options.topology.n;
	uint64_t tried[(1u << EH_N_MAX) / 64] = { 0 };
	struct eh_update up = { .type = EH_UP_ASK };
	struct eh_message_ask *ask = &msg->ask;
	struct eh_event event = { .type = EH_EV_ARRIVE,
				  .child = role_digit(m, from, level),
				  .arrive = { .id = ask->id,
					      .size = ask->size,
					      .tried = tried,
					      .tried_nodes = ask->tried,
					      .ntried_nodes = ask->ntried,
					      .home = &ask->at_home,
					      .leaves = ask->leaves } };

	if (level == 1) {
		/* the home knows its own load best */
		eh_lead_step(m, 1,
			     &(struct eh_event){ .type = EH_EV_REPORT,
						 .child = event.child,
						 .report = { .load = ask->at_home.load,
							     .dwell = ask->at_home.dwell } },
			     NULL);
		for (size_t i = 0; i < ask->ntried; i++)
			if (role_together(m, ask->tried[i], 1))
				tried[role_digit(m, ask->tried[i], 1) / 64] |=
					1ull << role_digit(m, ask->tried[i], 1) % 64;
	}
	if (eh_lead_step(m, level, &event, &up)) {
		/* it has not reported yet, or there is no memory */
		ask_answer_none(m, msg, EH_WHY_NO_CONTROLLER);
		return true;
	}
	ask->probes += up.probes;
	if (up.probes && ask->npath < EH_ROUTE_MAX)
		ask->path[ask->npath++] = (struct eh_probe){ level, m->options.self, up.own };
	if (up.type == EH_UP_ASK)
		return false;
	eh_lead_own(m, level, NULL, 0);
	if (up.type == EH_UP_PLACE)
		ask_answer_to(m, msg, level == 1 ? first | up.child : up.node, EH_WHY_SENDER);
	else
		ask_answer_none(m, msg, up.calm ? EH_WHY_NOT_SENDER : EH_WHY_NO_RECEIVER);
	return true;
}

/* `from` is the child, or home itself, that asks the controller of this level. */
static void ask_here(struct eh_member *m, unsigned int level, uint32_t from, struct eh_message *msg)
{
	for (; level <= m->rank; level++, from = m->options.self)
		if (ask_group(m, level, from, msg))
			return;
	if (m->rank == role_top(m)) {
		ask_answer_none(m, msg, EH_WHY_NO_RECEIVER);
	} else if (!m->attached || msg->ask.nroute == EH_ROUTE_MAX) {
		ask_answer_none(m, msg, EH_WHY_NO_CONTROLLER);
	} else {
		msg->level = level;
		if (msg->ask.home != m->options.self)
			msg->ask.route[msg->ask.nroute++] = m->options.self;
		eh_member_send(m, m->parent, msg);
	}
}

void eh_ask_own(struct eh_member *m, const struct eh_member_event_ask *event)
{
	struct eh_message msg = { .type = EH_MSG_ASK,
				  .level = 1,
				  .ask = { .id = event->id,
					   .size = event->size,
					   .leaves = event->leaves,
					   .home = m->options.self,
					   .at_home = m->own } };

	/* Its group may name it as one of its best. */
	if (event->leaves)
		msg.ask.tried[msg.ask.ntried++] = m->options.self;
	for (size_t i = 0; i < event->ntried && msg.ask.ntried < EH_TRIED_MAX; i++)
		msg.ask.tried[msg.ask.ntried++] = event->tried[i];
	ask_here(m, 1, m->options.self, &msg);
}

void eh_ask_on_ask(struct eh_member *m, uint32_t from, const struct eh_message *msg)
{
	struct eh_message copy = *msg;
	struct eh_message_ask *ask = &copy.ask;

	if (from == ask->home)
		ask->route[ask->nroute++] = from;
	if (!ask->nroute || ask->route[ask->nroute - 1] != from)
		return;
	if (m->rank < msg->level || !role_together(m, from, msg->level))
		ask_answer_none(m, &copy, EH_WHY_NO_CONTROLLER);
	else
		ask_here(m, msg->level, from, &copy);
}

void eh_ask_on_answer(struct eh_member *m, const struct eh_message *msg)
{
	struct eh_message copy = *msg;

	ask_answer(m, &copy);
}

void eh_ask_failed(struct eh_member *m, uint64_t id, uint32_t to, const struct eh_probe *who)
{
	if (!who->level || who->level > role_top(m))
		return;
	if (who->node != m->options.self) {
		eh_member_send(m, who->node,
			       &(struct eh_message){ .type = EH_MSG_FAILED,
						     .level = who->level,
						     .failed = { .id = id, .to = to } });
		return;
	}
	if (who->level > m->rank || !role_together(m, to, who->level))
		return;
	eh_lead_step(m, who->level,
		     &(struct eh_event){ .type = EH_EV_FAILED,
					 .child = role_digit(m, to, who->level),
					 .failed = { id } },
		     NULL);
	eh_lead_own(m, who->level, NULL, 0);
}
