// SPDX-License-Identifier: GPL-2.0-or-later
#include "home/choice.h"

#include "base/agent.h"
#include "base/clock.h"
#include "cluster/ask.h"
#include "cluster/credits.h"
#include "home/record.h"
#include "net/peer.h"

#define CHOICE_AVOID_MIN 100 /* ms */
#define CHOICE_AVOID_MAX 5000

/*
 * Whether the refusal is about the node, not about this task, its user, or what that wants (EHS_REASON_REFUSED): no user
 * keeps a node from others. Draining does not count, because the controller knows when it ends.
 */
bool choice_blames(enum ehs_reason reason)
{
	return reason == EHS_REASON_UNREACHABLE || reason == EHS_REASON_NO_HEADROOM ||
	       reason == EHS_REASON_GUEST_LIMIT;
}

void choice_avoid(struct peer *peer)
{
	peer->avoid_ms = peer->avoid_ms ? peer->avoid_ms * 2 : CHOICE_AVOID_MIN;
	if (peer->avoid_ms > CHOICE_AVOID_MAX)
		peer->avoid_ms = CHOICE_AVOID_MAX;
	peer->avoid_until = clock_ms() + peer->avoid_ms;
}

void choice_undo(struct placement *p)
{
	if (p->explicit_node)
		return;
	if (p->by_credit)
		credits_unused(p->agent, &p->credit);
	else
		ask_failed(p->agent, p->id, p->to, &p->decider);
	p->by_credit = false;
}
