// SPDX-License-Identifier: GPL-2.0-or-later
/* Questions of this node: "who takes this task?", until the hierarchy's answer or the end of their time. */

#include <stdlib.h>
#include <string.h>

#include "base/agent.h"
#include "base/clock.h"
#include "cluster/hierarchy.h"
#include "node/node.h"
#include "cluster/report.h"

struct question {
	struct question *next;
	uint64_t id, until;
	control_fn done;
	void *ctx;
};

static struct question *questions;

/* Tasks that run here although they asked. The controller counts them until a report has them. */
static struct question_home {
	uint64_t id, until;
} question_homes[EH_SEEN_MAX];
static size_t question_nhomes;

/* Until it is certainly in the load: the kernel counts it when the exec goes on. Without the module and by
 * tasks it is counted as soon as it is answered (stayed.c); counted twice, home would take too few of a burst. */
#define QUESTION_SEEN_MS 50

static void question_runs_here(uint64_t id)
{
	/* more than fit: the controller's grant ends by itself */
	if (question_nhomes < EH_SEEN_MAX)
		question_homes[question_nhomes++] =
			(struct question_home){ id, agent.module || node_settings()->index !=
									    EHS_INDEX_TASKS
							    ? clock_ms() + QUESTION_SEEN_MS
							    : 0 };
}

size_t question_take_seen(uint64_t *ids, size_t max)
{
	size_t n = 0;

	while (n < question_nhomes && n < max && clock_ms() >= question_homes[n].until) {
		ids[n] = question_homes[n].id;
		n++;
	}
	question_nhomes -= n;
	memmove(question_homes, question_homes + n, question_nhomes * sizeof(question_homes[0]));
	return n;
}

static enum ehs_reason question_reason(enum eh_why why)
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

void question_answered(const struct eh_message *msg)
{
	struct control_answer answer = { .probes = msg->probes,
					 .path = msg->path,
					 .npath = msg->npath };
	struct question **at, *q;

	for (at = &questions; (q = *at); at = &q->next)
		if (q->id == msg->id)
			break;
	if (!q)
		return;
	*at = q->next;
	answer.reason = question_reason(msg->why);
	if (msg->to == EH_NO_NODE)
		question_runs_here(msg->id);
	if (msg->to != EH_NO_NODE) {
		answer.to = peer_by_code((struct eh_code){ 0, msg->to });
		if (!answer.to)
			answer.reason = EHS_REASON_UNREACHABLE;
	}
	q->done(q->ctx, &answer);
	free(q);
}

void question_tick(void)
{
	const struct control_answer none = { .reason = EHS_REASON_NO_CONTROLLER };
	struct question **at = &questions, *q;

	while ((q = *at)) {
		if (clock_ms() < q->until) {
			at = &q->next;
			continue;
		}
		*at = q->next;
		q->done(q->ctx, &none);
		free(q);
		/* what it led to may have changed the list */
		at = &questions;
	}
}

void control_ask(const char *id, uint64_t size, struct peer *const *tried, unsigned int ntried,
		 unsigned int time_ms, control_fn done, void *ctx)
{
	const struct control_answer none = { .reason = EHS_REASON_NO_CONTROLLER };
	struct question *q = malloc(sizeof(*q));
	uint32_t nodes[EH_TRIED_MAX];
	size_t n = 0;

	if (!q) {
		done(ctx, &none);
		return;
	}
	*q = (struct question){ questions, report_id(id), clock_ms() + time_ms, done, ctx };
	questions = q;
	while (n < ntried && n < EH_TRIED_MAX) {
		nodes[n] = tried[n]->code.index;
		n++;
	}
	control_touch_now();
	control_step(&(struct eh_member_event){
		.type = EH_ME_ASK, .id = q->id, .size = size, .tried = nodes, .ntried = n });
}

void control_failed(const char *id, struct peer *to, const struct eh_probe *decider)
{
	control_step(&(struct eh_member_event){ .type = EH_ME_FAILED,
						.id = report_id(id),
						.to = to->code.index,
						.probe = *decider });
}
