// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks what a node may say (docs/protocol.md has the table). Only what codes alone decide is refused as a
 * message: two nodes may differ for a moment on who leads.
 */
#include "may.h"

/* Whether a node is of the child that `from` speaks for when it talks to the controller of `level`. */
static bool may_speak_for(const struct eh_member *m, uint32_t from, unsigned int level,
			  uint32_t node)
{
	return role_group(m, from, level - 1) == role_group(m, node, level - 1);
}

static bool may_report(const struct eh_member *m, uint32_t from, const struct eh_message *msg)
{
	for (size_t i = 0; i < msg->report.nbest; i++)
		if (!may_speak_for(m, from, msg->level, msg->report.best[i].node))
			return false;
	return role_together(m, from, msg->level);
}

/* The answer goes back to the node that asked, not to others. */
static bool may_ask(const struct eh_member *m, uint32_t from, const struct eh_message *msg)
{
	const struct eh_message_ask *ask = &msg->ask;

	for (size_t i = 0; i < ask->nroute; i++)
		if (!may_speak_for(m, from, msg->level, ask->route[i]))
			return false;
	return role_together(m, from, msg->level) &&
	       may_speak_for(m, from, msg->level, ask->home) &&
	       (from == ask->home || (ask->nroute && ask->route[ask->nroute - 1] == from));
}

bool eh_may_say(const struct eh_member *m, uint32_t from, const struct eh_message *msg)
{
	switch (msg->type) {
	case EH_MSG_REPORT:
		return may_report(m, from, msg);
	case EH_MSG_ASK:
		return may_ask(m, from, msg);
	case EH_MSG_ORDER:
	case EH_MSG_CLAIM:
		return role_together(m, from, msg->level);
	case EH_MSG_REDIRECT:
		/* also the controller above says who leads a group below it */
		return msg->level == role_top(m) || role_together(m, from, msg->level + 1);
	case EH_MSG_FAILED:
		return role_together(m, from, msg->level) &&
		       role_together(m, msg->failed.to, msg->level);
	default:
		return true;
	}
}

bool eh_may_answer(const struct eh_member *m, uint32_t from)
{
	if (m->attached && from == m->parent)
		return true;
	return from == m->former && m->now - m->parted_at <= 3ull * m->options.heartbeat_ms;
}
