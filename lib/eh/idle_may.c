// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks what a node may say about credits (docs/protocol.md has the table). A credit is always one of the
 * node that offers it: an offer names no other node, and an answer only one of the sender's group.
 */
#include "idle_may.h"

/* Whether two nodes are in the same group of a level; on level 0 they are the same. */
static bool idle_may_together(const struct eh_topology *t, uint32_t a, uint32_t b,
			      unsigned int level)
{
	return a >> t->n * level == b >> t->n * level;
}

/* To level 1 each asks for itself. Above, and down again, one may have been elsewhere before. */
static bool idle_may_ask(const struct eh_topology *t, uint32_t self, uint32_t from,
			 const struct eh_idle_message *msg)
{
	if (!msg->level || msg->ask.tier >= EH_TIERS)
		return false;
	if (msg->ask.down)
		return msg->level < t->l && idle_may_together(t, from, self, msg->level + 1);
	return idle_may_together(t, from, self, msg->level) &&
	       (msg->level > 1 || from == msg->ask.home);
}

bool eh_idle_may_say(const struct eh_topology *t, uint32_t self, uint32_t from,
		     const struct eh_idle_message *msg)
{
	if (msg->level > t->l)
		return false;
	switch (msg->type) {
	case EH_IDLE_OFFER:
		return idle_may_together(t, from, self, 1) &&
		       eh_offer_is_sound(&msg->offer.credits);
	case EH_IDLE_TAKEN:
		return idle_may_together(t, from, self, 1);
	case EH_IDLE_SOME:
		return msg->level > 1 && idle_may_together(t, from, self, msg->level);
	case EH_IDLE_ASK:
		return idle_may_ask(t, self, from, msg);
	case EH_IDLE_ANSWER:
		return !msg->answer.found || idle_may_together(t, from, msg->answer.credit.node, 1);
	case EH_IDLE_RETURN:
		return msg->credit.node == self;
	}
	return false;
}
