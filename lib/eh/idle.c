// SPDX-License-Identifier: GPL-2.0-or-later
#include "idle.h"

#include <errno.h>
#include <stdlib.h>

#include "idle_inside.h"
#include "idle_may.h"
#include "rule.h"

#define NO_NODE UINT32_MAX
#define IDLE_SLOW 1250
#define HELD_PART 8 /* processors for one that waits: docs/hierarchy.md */

static void idle_on_message(struct eh_idle *i, uint32_t from, const struct eh_idle_message *msg);

static unsigned int idle_top(const struct eh_idle *i)
{
	return i->options.topology.l;
}

static unsigned int idle_digit(const struct eh_idle *i, uint32_t node, unsigned int level)
{
	unsigned int n = i->options.topology.n;

	return node >> n * (level - 1) & ((1u << n) - 1);
}

/* Whether a node is in this node's group of a level. */
static bool idle_together(const struct eh_idle *i, uint32_t node, unsigned int level)
{
	unsigned int shift = i->options.topology.n * level;

	return node >> shift == i->options.self >> shift;
}

static void idle_send(struct eh_idle *i, uint32_t to, const struct eh_idle_message *msg)
{
	if (to == i->options.self)
		idle_on_message(i, to, msg);
	else
		i->emit(i->ctx, &(struct eh_idle_update){ EH_IDLE_SEND, to, msg });
}

/* The controller of the group of a level that this node is in; NO_NODE: none that is known. */
static uint32_t idle_leader(const struct eh_idle *i, unsigned int level)
{
	if (level <= i->rank)
		return i->options.self;
	return level == i->rank + 1 ? i->parent : NO_NODE;
}

/* ---- what is told upward ---- */

static void idle_tell_offer(struct eh_idle *i, bool beat)
{
	uint32_t to = idle_leader(i, 1);

	i->told_offer = i->purse.offer.version;
	if (to != NO_NODE)
		idle_send(i, to,
			  &(struct eh_idle_message){
				  .type = EH_IDLE_OFFER,
				  .level = 1,
				  .offer = { i->purse.offer, i->leader_reign, beat } });
}

static void idle_tell_some(struct eh_idle *i, unsigned int level)
{
	uint32_t to = idle_leader(i, level + 1);

	if (level == idle_top(i) || to == NO_NODE)
		return;
	i->leads[level].told = eh_pool_best(i->leads[level].pool);
	idle_send(i, to,
		  &(struct eh_idle_message){ .type = EH_IDLE_SOME,
					     .level = level + 1,
					     .some = { ++i->version, i->leads[level].told } });
}

/* After anything has happened: what is news. */
static void idle_tell_news(struct eh_idle *i)
{
	/* twice, where the controller is here and has just begun to lead */
	while (i->told_offer != i->purse.offer.version)
		idle_tell_offer(i, false);
	/* That there are more of the lowest tier than is supposed can wait until these are taken. */
	for (unsigned int level = 1; level <= i->rank && level < idle_top(i); level++)
		if (i->leads[level].told.tier != eh_pool_best(i->leads[level].pool).tier)
			idle_tell_some(i, level);
}

/* ---- asks ---- */

static void idle_answer(struct eh_idle *i, const struct eh_idle_ask *ask,
			const struct eh_credit *credit)
{
	struct eh_idle_message msg = { .type = EH_IDLE_ANSWER,
				       .answer = { .id = ask->id, .found = credit } };

	if (credit)
		msg.answer.credit = *credit;
	idle_send(i, ask->home, &msg);
}

static bool idle_hold(struct eh_idle *i, const struct eh_idle_ask *ask)
{
	const uint64_t until = i->now + ask->hold_ms;
	unsigned int at;

	if (!ask->hold_ms || i->nheld >= i->may_hold)
		return false;
	for (at = i->nheld++; at && i->held[at - 1].until > until; at--)
		i->held[at] = i->held[at - 1];
	i->held[at] = (struct idle_held){ *ask, until };
	i->held[at].ask.hold_ms = 0; /* it waits once */
	return true;
}

/* Passes an ask on. Returns whether there was somebody to pass it to. */
static bool idle_pass(struct eh_idle *i, struct eh_idle_ask ask, uint32_t to, unsigned int level)
{
	if (to == NO_NODE || ++ask.hops > EH_IDLE_HOPS_MAX)
		return false;
	idle_send(i, to,
		  &(struct eh_idle_message){ .type = EH_IDLE_ASK, .level = level, .ask = ask });
	return true;
}

/* Which child of the group of level 1 the home is; 2^n: none. */
static unsigned int idle_home_child(const struct eh_idle *i, const struct eh_idle_ask *ask)
{
	return idle_together(i, ask->home, 1) ? idle_digit(i, ask->home, 1)
					      : 1u << i->options.topology.n;
}

/* The controller of this level looks for a credit. */
static void idle_look(struct eh_idle *i, unsigned int level, struct eh_idle_ask ask)
{
	struct eh_pool *pool = i->leads[level].pool;
	struct eh_credit credit;
	bool was_down = ask.down;
	uint32_t node;

	if (level == 1 &&
	    eh_pool_take(pool, ask.tier, idle_home_child(i, &ask), &i->random, &credit)) {
		idle_answer(i, &ask, &credit);
		return;
	}
	if (level > 1 && eh_pool_pick(pool, ask.tier, &i->random, &node)) {
		ask.down = true;
		ask.missed = false;
		if (!idle_pass(i, ask, node, level - 1))
			idle_answer(i, &ask, NULL);
		return;
	}
	if (level < idle_top(i)) {
		ask.down = false;
		ask.missed = was_down;
		/* as the controller above will suppose when it gets it */
		if (was_down)
			eh_best_none(&i->leads[level].told, ask.tier);
		if (!idle_pass(i, ask, idle_leader(i, level + 1), level + 1))
			idle_answer(i, &ask, NULL);
		return;
	}
	if (ask.tier == 0 && idle_hold(i, &ask))
		return;
	ask.tier = eh_pool_best(pool).tier;
	if (ask.tier == EH_TIERS) {
		idle_answer(i, &ask, NULL);
		return;
	}
	ask.down = false;
	idle_look(i, level, ask);
}

static void idle_held_drop(struct eh_idle *i, unsigned int at)
{
	i->nheld--;
	for (; at < i->nheld; at++)
		i->held[at] = i->held[at + 1];
}

/* Those whose time ends first get what there is now. One that comes back, for it was gone, waits for what is left. */
static void idle_held_serve(struct eh_idle *i)
{
	unsigned int most = i->nheld;

	while (most-- && i->nheld && !eh_pool_best(i->leads[idle_top(i)].pool).tier) {
		struct eh_idle_ask ask = i->held[0].ask;
		uint64_t left = i->held[0].until > i->now ? i->held[0].until - i->now : 0;

		/* it may come back, and waits for what is left of its time then */
		ask.hold_ms = (uint32_t)left;
		idle_held_drop(i, 0);
		idle_look(i, idle_top(i), ask);
	}
}

static void idle_held_expire(struct eh_idle *i)
{
	while (i->nheld && i->held[0].until <= i->now) {
		struct eh_idle_ask ask = i->held[0].ask;

		idle_held_drop(i, 0);
		idle_look(i, idle_top(i), ask);
	}
}

static void idle_on_ask(struct eh_idle *i, uint32_t from, const struct eh_idle_message *msg)
{
	const struct eh_idle_ask *ask = &msg->ask;

	if (ask->tier >= EH_TIERS)
		return;
	/* The sender's role may be of another time: its exec is not to wait for that. */
	if (!msg->level || msg->level > i->rank ||
	    !idle_together(i, from, msg->level + ask->down)) {
		idle_answer(i, ask, NULL);
		return;
	}
	if (ask->down)
		eh_best_take(&i->leads[msg->level].told);
	if (ask->missed && msg->level > 1)
		eh_pool_none(i->leads[msg->level].pool, idle_digit(i, from, msg->level), ask->tier);
	idle_look(i, msg->level, *ask);
}

/* ---- messages ---- */

static void idle_on_offer(struct eh_idle *i, uint32_t from, const struct eh_idle_message *msg)
{
	struct eh_idle_message back = { .type = EH_IDLE_TAKEN,
					.taken = { .life = msg->offer.credits.life } };
	unsigned int child = idle_digit(i, from, 1);

	if (!i->rank || !idle_together(i, from, 1))
		return;
	back.taken.reign = i->reign;
	if (msg->offer.reign == i->reign) {
		eh_pool_offer(i->leads[1].pool, child, from, &msg->offer.credits, i->now);
		back.taken.next = eh_pool_next(i->leads[1].pool, child);
	}
	if (msg->offer.reign != i->reign || msg->offer.beat)
		idle_send(i, from, &back);
}

static void idle_on_taken(struct eh_idle *i, uint32_t from, const struct eh_idle_message *msg)
{
	if (from != idle_leader(i, 1) || msg->taken.life != i->purse.offer.life ||
	    msg->taken.reign < i->leader_reign)
		return;
	if (msg->taken.reign > i->leader_reign) {
		/* What the last controller let be taken is unknown to this one. */
		i->leader_reign = msg->taken.reign;
		eh_purse_renew(&i->purse);
		return;
	}
	eh_purse_taken(&i->purse, msg->taken.next, i->now);
}

static void idle_on_message(struct eh_idle *i, uint32_t from, const struct eh_idle_message *msg)
{
	switch (msg->type) {
	case EH_IDLE_OFFER:
		idle_on_offer(i, from, msg);
		break;
	case EH_IDLE_TAKEN:
		idle_on_taken(i, from, msg);
		break;
	case EH_IDLE_SOME:
		if (msg->level < 2 || msg->level > i->rank || !idle_together(i, from, msg->level))
			break;
		eh_pool_some(i->leads[msg->level].pool, idle_digit(i, from, msg->level), from,
			     &msg->some.best, msg->some.version, i->now);
		break;
	case EH_IDLE_ASK:
		idle_on_ask(i, from, msg);
		break;
	case EH_IDLE_ANSWER:
		i->emit(i->ctx, &(struct eh_idle_update){ EH_IDLE_ANSWERED, from, msg });
		break;
	case EH_IDLE_RETURN:
		eh_purse_return(&i->purse, &msg->credit);
		break;
	}
}

/* ---- events of the driver ---- */

static void idle_want(struct eh_idle *i, uint64_t id, uint32_t hold_ms)
{
	struct eh_idle_ask ask = { .id = id, .home = i->options.self, .hold_ms = hold_ms };

	if (!idle_pass(i, ask, idle_leader(i, 1), 1))
		idle_answer(i, &ask, NULL);
}

static void idle_stop_leading(struct eh_idle *i)
{
	if (i->rank == idle_top(i)) {
		while (i->nheld) {
			idle_answer(i, &i->held[0].ask, NULL);
			idle_held_drop(i, 0);
		}
		free(i->held);
		i->held = NULL;
	}
	eh_pool_free(i->leads[i->rank--].pool);
}

/* Its group of the next level. 0 or -ENOMEM. */
static int idle_begin_leading(struct eh_idle *i)
{
	unsigned int level = i->rank + 1;

	if (!i->leads)
		i->leads = calloc(idle_top(i) + 1, sizeof(*i->leads));
	if (!i->leads)
		return -ENOMEM;
	i->leads[level] = (struct idle_lead){ .pool = eh_pool_new(i->options.topology.n),
					      .told = { EH_TIERS, 0 } };
	if (!i->leads[level].pool)
		return -ENOMEM;
	if (level == idle_top(i)) {
		i->held = calloc(EH_IDLE_HELD_MAX, sizeof(*i->held));
		if (!i->held) {
			eh_pool_free(i->leads[level].pool);
			return -ENOMEM;
		}
	}
	if (!i->rank)
		i->reign = ++i->version;
	i->rank = level;
	return 0;
}

static int idle_set_role(struct eh_idle *i, unsigned int rank, uint32_t parent)
{
	uint32_t before = idle_leader(i, 1);
	int err = 0;

	if (rank > idle_top(i) ||
	    (parent != NO_NODE && parent >> i->options.topology.n * idle_top(i)))
		return -EINVAL;
	while (i->rank > rank)
		idle_stop_leading(i);
	while (i->rank < rank && !err)
		err = idle_begin_leading(i);
	i->parent = parent;
	if (idle_leader(i, 1) != before)
		i->leader_reign = 0;
	i->beat_at = i->now; /* all is told at once */
	return err;
}

static void idle_beat(struct eh_idle *i)
{
	uint64_t silent = 3ull * i->options.heartbeat_ms;

	for (unsigned int level = 1; level <= i->rank; level++)
		eh_pool_expire(i->leads[level].pool, i->now, silent);
	idle_held_expire(i);
	eh_purse_expire(&i->purse, i->now, i->options.lease_ms);
	if (i->now < i->beat_at)
		return;
	i->beat_at = i->now + i->options.heartbeat_ms;
	idle_tell_offer(i, true);
	for (unsigned int level = 1; level <= i->rank; level++)
		idle_tell_some(i, level);
}

static void idle_begin_step(struct eh_idle *i, uint64_t now, eh_idle_emit_fn emit, void *ctx)
{
	i->now = now;
	i->emit = emit;
	i->ctx = ctx;
}

static void idle_end_step(struct eh_idle *i)
{
	idle_tell_news(i);
	if (i->nheld)
		idle_held_serve(i);
	idle_tell_news(i);
}

int eh_idle_step(struct eh_idle *i, const struct eh_idle_event *event, uint64_t now,
		 eh_idle_emit_fn emit, void *ctx)
{
	int err = 0;

	idle_begin_step(i, now, emit, ctx);
	switch (event->type) {
	case EH_IDLE_TICK:
		idle_beat(i);
		break;
	case EH_IDLE_TASKS:
		eh_purse_tasks(&i->purse, event->tasks);
		break;
	case EH_IDLE_WANT:
		idle_want(i, event->want.id, event->want.hold_ms);
		break;
	case EH_IDLE_UNUSED:
		/* nobody has the code of a node outside */
		if (event->credit.node >> (i->options.topology.n * i->options.topology.l))
			err = -EINVAL;
		else
			idle_send(i, event->credit.node,
				  &(struct eh_idle_message){ .type = EH_IDLE_RETURN,
							     .credit = event->credit });
		break;
	case EH_IDLE_ROLE:
		err = idle_set_role(i, event->role.rank, event->role.parent);
		if (err != -EINVAL)
			idle_beat(i);
		break;
	case EH_IDLE_GONE:
		if (event->node == idle_leader(i, 1))
			i->leader_reign = 0; /* its clock may have been set back meanwhile */
		for (unsigned int level = 1; level <= i->rank; level++)
			eh_pool_gone(i->leads[level].pool, event->node);
		break;
	case EH_IDLE_MESSAGE:
		if (!eh_idle_may_say(&i->options.topology, i->options.self, event->message.from,
				     event->message.body))
			return -EPERM;
		idle_on_message(i, event->message.from, event->message.body);
		break;
	default:
		return -EINVAL;
	}
	idle_end_step(i);
	return err;
}

bool eh_idle_accept(struct eh_idle *i, const struct eh_credit *credit, uint64_t now,
		    eh_idle_emit_fn emit, void *ctx)
{
	bool accepted;

	idle_begin_step(i, now, emit, ctx);
	accepted = eh_purse_accept(&i->purse, credit);
	idle_end_step(i);
	return accepted;
}

struct eh_idle *eh_idle_new(const struct eh_idle_options *options)
{
	const struct eh_topology *t = &options->topology;
	struct eh_idle *i;

	if (!t->n || !t->l || t->n > EH_N_MAX || t->l > EH_LEVELS_MAX ||
	    t->n * t->l > EH_BITS_MAX || options->self >> t->n * t->l || !options->processors ||
	    !options->heartbeat_ms)
		return NULL;
	i = calloc(1, sizeof(*i));
	if (!i)
		return NULL;
	i->options = *options;
	i->random = options->seed;
	i->parent = NO_NODE;
	i->version = options->life << 20; /* greater than those of an earlier life */
	eh_purse_begin(&i->purse, options->life, options->processors);
	return i;
}

void eh_idle_free(struct eh_idle *i)
{
	if (!i)
		return;
	for (unsigned int level = 1; level <= i->rank; level++)
		eh_pool_free(i->leads[level].pool);
	free(i->leads);
	free(i->held);
	free(i);
}

bool eh_idle_is_slower(unsigned int slow, unsigned int tier, unsigned int tasks,
		       unsigned int processors)
{
	const uint64_t here = (uint64_t)tasks + 1 > processors ? (uint64_t)tasks + 1 : processors;

	/* 1000 * 4 / 5 */
	return slow >= IDLE_SLOW && (uint64_t)slow * (tier + 1) * processors > 800 * here;
}

void eh_idle_hold(struct eh_idle *i, uint64_t processors)
{
	const uint64_t most = processors / HELD_PART;

	i->may_hold = most >= EH_IDLE_HELD_MAX ? EH_IDLE_HELD_MAX : most ? most : processors > 0;
}

uint64_t eh_idle_held_until(const struct eh_idle *i)
{
	return i->nheld ? i->held[0].until : UINT64_MAX;
}

size_t eh_idle_bytes(const struct eh_idle *i)
{
	size_t bytes = sizeof(*i);

	if (i->leads)
		bytes += (idle_top(i) + 1) * sizeof(*i->leads);
	if (i->held)
		bytes += EH_IDLE_HELD_MAX * sizeof(*i->held);
	return bytes + i->rank * eh_pool_bytes(i->options.topology.n);
}
