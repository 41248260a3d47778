// SPDX-License-Identifier: GPL-2.0-or-later
#include "home/placement_seek.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/ask.h"
#include "cluster/credits.h"
#include "cluster/hierarchy.h"
#include "cluster/report.h"
#include "eh/idle.h"
#include "eh/member.h"
#include "eh/topology.h"
#include "home/choice.h"
#include "home/fit.h"
#include "home/learn.h"
#include "home/outcome.h"
#include "home/record.h"
#include "net/peer.h"
#include "net/peers.h"
#include "node/node.h"
#include "wire/reason.h"

#define SEEK_SIZE 1000 /* load of one task, in thousandths */
/* peers to avoid that the controller is told of; it knows itself which are down */
#define SEEK_AVOIDED 16
/* in place of the number of credits: it asks for no more */
#define SEEK_THRESHOLDS UINT_MAX
#define SEEK_FREE "It runs at home because a processor of the node was free."
#define SEEK_BUSY "a credit of %s: no processor is free, and none has less than %u task%s"

/* ---- thresholds ---- */

/* Notes which controllers were asked, and what they knew, for `why`. */
static void seek_note_path(struct placement *p, const struct ask_answer *answer)
{
	const struct eh_topology *t = &p->agent->config->topology;
	char group[EH_CODE_TEXT];

	for (size_t i = 0; i < answer->npath; i++) {
		const struct eh_probe *probe = &answer->path[i];
		struct eh_code code = { probe->level,
					p->agent->self.index >> (t->n * probe->level) };
		struct peer *at = peers_by_code(p->agent, (struct eh_code){ 0, probe->node });

		record_step(p, "group %s, led by %s, is %s", eh_code_format(t, code, group),
			    at ? peer_host(at) : "?", report_state_name(probe->state));
		log_debug("%s: group %s, led by %s, is %s", p->id, group, at ? peer_code(at) : "?",
			  report_state_name(probe->state));
	}
}

/* Notes the task's path through the hypercube. */
static void seek_note_way(struct placement *p, const struct peer *to)
{
	const struct eh_topology *t = &p->agent->config->topology;
	struct eh_code way[EH_PATH_MAX];
	char code[EH_CODE_TEXT], text[EH_PATH_MAX * EH_CODE_TEXT];
	int n = eh_path(t, p->agent->self, to->code, report_id(p->id), way);
	size_t used = 0;

	for (int i = 0; i < n; i++)
		used += snprintf(text + used, sizeof(text) - used, " %s",
				 eh_code_format(t, way[i], code));
	if (n <= 0)
		return;
	record_step(p, "path:%s", text);
	log_debug("%s: path:%s", p->id, text);
}

static void seek_on_answer(void *ctx, const struct ask_answer *answer)
{
	struct placement *p = ctx;

	p->probes += answer->probes;
	seek_note_path(p, answer);
	if (answer->npath)
		p->decider = answer->path[answer->npath - 1];
	if (!placement_is_open(p)) {
		if (answer->to)
			ask_failed(p->agent, p->id, answer->to, &p->decider);
	} else if (!answer->to) {
		outcome_stays(p,
			      answer->reason == EHS_REASON_NO_RECEIVER && p->refusal
				      ? p->refusal
				      : answer->reason,
			      NULL);
	} else {
		record_step(p, "the controller chose %s", peer_host(answer->to));
		seek_note_way(p, answer->to);
		p->to = answer->to;
		record_time(p, TIMING_FOUND);
		p->found(p);
	}
	record_release(p);
}

static void seek_ask(struct placement *p)
{
	struct peer * not [SEEK_AVOIDED + PLACEMENT_TRIES], *peer;
	uint64_t now = clock_ms();
	unsigned int n = 0;

	for (unsigned int i = 0; i < p->ntried; i++)
		not [n++] = p->tried[i];
	for (peer = peers_next(p->agent, NULL); peer && n < SEEK_AVOIDED;
	     peer = peers_next(p->agent, peer)) {
		enum ehs_reason trouble = fit_trouble(p, peer);

		if (trouble == EHS_REASON_NONE)
			continue;
		not [n++] = peer;
		p->refusal = trouble;
	}
	for (peer = peers_next(p->agent, NULL); peer && n < SEEK_AVOIDED;
	     peer = peers_next(p->agent, peer))
		if (peer->avoid_until > now && fit_trouble(p, peer) == EHS_REASON_NONE)
			not [n++] = peer;
	record_hold(p);
	ask_start(p->agent,
		  &(struct ask_question){ .id = p->id,
					  .size = SEEK_SIZE,
					  .leaves = p->leaves,
					  .tried = not,
					  .ntried = n,
					  .time_ms = record_time_left(p) },
		  seek_on_answer, p);
}

/* ---- credits ---- */

static bool seek_avoids(const struct placement *p, const struct peer *to)
{
	if (to->avoid_until > clock_ms() || fit_trouble(p, to) != EHS_REASON_NONE)
		return true;
	for (unsigned int i = 0; i < p->ntried; i++)
		if (p->tried[i] == to)
			return true;
	return to->self && p->leaves;
}

/* The node of the last credit does not take it: perhaps others came there first. */
static void seek_other(struct placement *p);
static void seek_credit(struct placement *p);

/* A credit of this node's own. */
static void seek_at_home(struct placement *p, const struct eh_credit *credit)
{
	if (credits_accept(p->agent, credit))
		outcome_stays(p, REASON_CREDIT, NULL);
	else
		seek_other(p);
}

/* For each 1000 that the task would take alone here: there, behind `tier` others; 0: it is no slower than here. */
static uint64_t seek_slower(const struct placement *p, const struct peer *to, unsigned int tier)
{
	const unsigned int slow = p->leaves || to->self ? 0 : learn_slowness(p, to);

	if (!eh_idle_is_slower(slow, tier, credits_tasks(p->agent), node_processors(p->agent)))
		return 0;
	return (uint64_t)slow * (tier + 1);
}

static bool seek_is_slower(struct placement *p, const struct peer *to,
			   const struct eh_credit *credit)
{
	const uint64_t there = seek_slower(p, to, credit->tier);
	bool retries;

	if (!there)
		return false;
	retries = !credit->tier && (p->retries || learn_retries(p, to));
	record_step(p, "a credit of %s: %.2f times as long as alone here, by earlier tasks%s",
		    peer_host(to), (double)there / 1e3,
		    retries ? "; one an hour goes all the same" : "");
	return !retries;
}

/* Whether no node is faster even if it is free. At most 16 are known, so this ends soon. */
static bool seek_all_slower(const struct placement *p)
{
	bool any = false;

	for (struct peer *to = peers_next(p->agent, NULL); to; to = peers_next(p->agent, to)) {
		if (to->self || !peer_is_up(to))
			continue;
		if (!seek_slower(p, to, 0))
			return false;
		any = true;
	}
	return any;
}

/* Whether it is the one task of this hour that goes to one of them all the same. */
static bool seek_retries(struct placement *p)
{
	for (struct peer *to = peers_next(p->agent, NULL); to && !p->retries;
	     to = peers_next(p->agent, to))
		p->retries = !to->self && peer_is_up(to) && learn_retries(p, to);
	return p->retries;
}

/* Another node may not be slower. */
static void seek_faster(struct placement *p)
{
	if (p->ncredits < EH_IDLE_WANTS)
		seek_credit(p);
	else
		outcome_stays(p, REASON_SLOWER, NULL);
}

static void seek_on_credit(void *ctx, struct peer *to, const struct eh_credit *credit)
{
	struct placement *p = ctx;
	const bool open = placement_is_open(p);

	if (open && to && !credit) {
		record_step(p, "it has waited for a processor of this node");
		outcome_stays(p, EHS_REASON_NOT_SENDER, SEEK_FREE);
	} else if (open && to && !seek_avoids(p, to) && seek_is_slower(p, to, credit)) {
		credits_unused(p->agent, credit);
		seek_faster(p);
	} else if (open && to && !seek_avoids(p, to)) {
		if (credit->tier)
			record_step(p, SEEK_BUSY, peer_host(to), credit->tier,
				    credit->tier > 1 ? "s" : "");
		else
			record_step(p, "a credit of %s: a processor is free", peer_host(to));
		if (!to->self) {
			p->credit = *credit;
			p->by_credit = true;
			p->to = to;
			record_time(p, TIMING_FOUND);
			p->found(p);
		} else {
			seek_at_home(p, credit);
		}
	} else {
		if (credit)
			credits_unused(p->agent, credit);
		if (open) {
			if (to)
				record_step(p, "a credit of %s is of no use: the thresholds decide",
					    peer_host(to));
			else
				record_step(p, "no credit: the thresholds decide");
			p->ncredits = SEEK_THRESHOLDS;
			seek_ask(p);
		}
	}
	record_release(p);
}

/*
 * A fifth of what it is expected to take, as the simulation has it (docs/hierarchy.md), and of its
 * time limit what leaves room for the rest. Where nothing is known nobody waits: that would cost a
 * short task more than it gains.
 */
static unsigned int seek_hold_ms(const struct placement *p)
{
	const unsigned int most = record_time_left(p) / 4;
	const uint64_t ms = p->is_expected ? p->expected.time_us / 5000 : 0;

	return p->leaves ? 0 : ms < most ? (unsigned int)ms : most;
}

static void seek_credit(struct placement *p)
{
	p->ncredits++;
	record_hold(p);
	/* the rest is for the thresholds, if no answer comes */
	credits_want(p->agent, (record_time_left(p) + 1) / 2, seek_hold_ms(p), seek_on_credit, p);
}

static void seek_other(struct placement *p)
{
	if (p->ncredits < EH_IDLE_WANTS) {
		seek_credit(p);
		return;
	}
	if (p->ncredits != SEEK_THRESHOLDS)
		record_step(p, "%u credits were of no use: the thresholds decide", EH_IDLE_WANTS);
	p->ncredits = SEEK_THRESHOLDS;
	seek_ask(p);
}

/* ---- both ---- */

bool placement_seek_stays(struct placement *p)
{
	if (p->explicit_node || !credits_on(p->agent))
		return false;
	hierarchy_touch_now(p->agent);
	if (!p->leaves && credits_has_room(p->agent))
		outcome_stays(p, EHS_REASON_NOT_SENDER, SEEK_FREE);
	else if (seek_all_slower(p) && !seek_retries(p))
		outcome_stays(p, REASON_SLOWER, NULL);
	else
		return false;
	return true;
}

void placement_seek(struct placement *p, void (*found)(struct placement *p))
{
	p->found = found;
	record_time(p, TIMING_SEEK);
	if (credits_on(p->agent))
		seek_credit(p);
	else
		seek_ask(p);
}

/* Whether the reason says more than that nobody takes it. */
static bool seek_is_rule(enum ehs_reason reason)
{
	return reason == REASON_GUEST_USER || reason == REASON_GUEST_NODE ||
	       reason == REASON_AWAY_NODE || reason == REASON_LABELS ||
	       reason == REASON_USER_LIMIT || reason == EHS_REASON_NO_HEADROOM ||
	       reason == EHS_REASON_FILES_DIFFER || reason == EHS_REASON_ROOT_REFUSED ||
	       reason == EHS_REASON_UNKNOWN_USER;
}

bool placement_seek_again(struct placement *p, enum ehs_reason reason)
{
	const bool used = p->by_credit && reason == REASON_CREDIT_USED;

	/* Such a node is not asked for again, as it is known not to fit: it is none of the tries. */
	const bool unfit = p->nunfit < EH_TRIED_MAX && fit_trouble(p, p->to) != EHS_REASON_NONE;

	p->nunfit += unfit;
	if (seek_is_rule(reason))
		p->refusal = reason;
	if (!used && !unfit)
		p->tried[p->ntried++] = p->to;
	choice_undo(p);
	p->to = NULL;
	if (p->ntried == PLACEMENT_TRIES)
		return false;
	if (credits_on(p->agent))
		seek_other(p);
	else
		seek_ask(p);
	return true;
}
