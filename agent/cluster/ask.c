// SPDX-License-Identifier: GPL-2.0-or-later
/* This node's asks ("who takes this task?"), until the hierarchy answers or their time is over. */

#include "cluster/ask.h"

#include <stdlib.h>
#include <string.h>
#include <linux/ehsched.h>
#include <utlist.h>

#include "base/agent.h"
#include "base/clock.h"
#include "cluster/hierarchy.h"
#include "cluster/report.h"
#include "eh/member.h"
#include "eh/topology.h"
#include "net/peer.h"
#include "net/peers.h"
#include "node/node.h"

struct ask {
	struct ask *next;
	uint64_t id, until;
	ask_fn done;
	void *ctx;
};

/* Tasks that asked but run here. The controller counts them until a report includes them. */
struct ask_home {
	uint64_t id, until;
};

struct asks {
	struct ask *open;
	struct ask_home homes[EH_SEEN_MAX];
	size_t nhomes;
};

/*
 * A task that stays is reported as seen only when it is certainly in the load: the kernel counts it
 * when the exec continues. Without the module, load index `tasks` counts it at once (local_task.c). A
 * task counted twice would make home take too few of a burst.
 */
#define ASK_SEEN_MS 50

static void ask_runs_here(struct agent *agent, uint64_t id)
{
	/* When there is no room, the controller's grant expires by itself. */
	if (agent->asks->nhomes < EH_SEEN_MAX)
		agent->asks->homes[agent->asks->nhomes++] =
			(struct ask_home){ id, agent->module || node_settings(agent)->index !=
									EHS_INDEX_TASKS
						       ? clock_ms() + ASK_SEEN_MS
						       : 0 };
}

static size_t ask_take_seen(struct agent *agent, uint64_t *ids, size_t max)
{
	size_t n = 0;

	while (n < agent->asks->nhomes && n < max && clock_ms() >= agent->asks->homes[n].until) {
		ids[n] = agent->asks->homes[n].id;
		n++;
	}
	agent->asks->nhomes -= n;
	memmove(agent->asks->homes, agent->asks->homes + n,
		agent->asks->nhomes * sizeof(agent->asks->homes[0]));
	return n;
}

static enum ehs_reason ask_reason(enum eh_why why)
{
	switch (why) {
	case EH_WHY_SENDER:
		return EHS_REASON_SENDER;
	case EH_WHY_NOT_SENDER:
		return EHS_REASON_NOT_SENDER;
	case EH_WHY_NO_RECEIVER:
		return EHS_REASON_NO_RECEIVER;
	default:
		return EHS_REASON_NO_CONTROLLER;
	}
}

static void ask_answered(struct agent *agent, const struct eh_message *msg)
{
	const struct eh_message_ask *ask = &msg->answer.ask;
	struct ask_answer answer = { .probes = ask->probes,
				     .path = ask->path,
				     .npath = ask->npath };
	struct ask *q;

	LL_SEARCH_SCALAR(agent->asks->open, q, id, ask->id);
	if (!q)
		return;
	LL_DELETE(agent->asks->open, q);
	answer.reason = ask_reason(msg->answer.why);
	if (msg->answer.to == EH_NO_NODE)
		ask_runs_here(agent, ask->id);
	if (msg->answer.to != EH_NO_NODE) {
		answer.to = peers_by_code(agent, (struct eh_code){ 0, msg->answer.to });
		if (!answer.to)
			answer.reason = EHS_REASON_UNREACHABLE;
	}
	q->done(q->ctx, &answer);
	free(q);
}

static void ask_tick(struct agent *agent)
{
	const struct ask_answer none = { .reason = EHS_REASON_NO_CONTROLLER };
	struct ask **at = &agent->asks->open, *q;

	while ((q = *at)) {
		if (clock_ms() < q->until) {
			at = &q->next;
			continue;
		}
		*at = q->next;
		q->done(q->ctx, &none);
		free(q);
		/* The callback may have changed the list. */
		at = &agent->asks->open;
	}
}

void ask_start(struct agent *agent, const struct ask_question *question, ask_fn done, void *ctx)
{
	const struct ask_answer none = { .reason = EHS_REASON_NO_CONTROLLER };
	/* A placement that waits for a node is told when this agent ends, and may seek another one. */
	struct ask *q = agent->asks ? malloc(sizeof(*q)) : NULL;
	uint32_t nodes[EH_TRIED_MAX];
	size_t n = 0;

	if (!q) {
		done(ctx, &none);
		return;
	}
	*q = (struct ask){ agent->asks->open, report_id(question->id),
			   clock_ms() + question->time_ms, done, ctx };
	agent->asks->open = q;
	while (n < question->ntried && n < EH_TRIED_MAX) {
		nodes[n] = question->tried[n]->code.index;
		n++;
	}
	hierarchy_touch_now(agent);
	hierarchy_step(agent, &(struct eh_member_event){ .type = EH_ME_ASK,
							 .ask = { .id = q->id,
								  .size = question->size,
								  .tried = nodes,
								  .ntried = n,
								  .leaves = question->leaves } });
}

void ask_failed(struct agent *agent, const char *id, struct peer *to,
		const struct eh_probe *decider)
{
	const struct eh_member_event_failed failed = { .id = report_id(id),
						       .to = to->code.index,
						       .decider = *decider };

	hierarchy_step(agent, &(struct eh_member_event){ .type = EH_ME_FAILED, .failed = failed });
}

const struct hierarchy_ops ask_ops = {
	.answered = ask_answered,
	.tick = ask_tick,
	.seen = ask_take_seen,
};

int ask_init(struct agent *agent)
{
	agent->asks = calloc(1, sizeof(*agent->asks));
	return agent->asks ? 0 : -ENOMEM;
}

void ask_exit(struct agent *agent)
{
	struct ask *q;

	if (!agent->asks)
		return;
	while ((q = agent->asks->open)) {
		agent->asks->open = q->next;
		free(q);
	}
	free(agent->asks);
	agent->asks = NULL;
}
