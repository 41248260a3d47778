// SPDX-License-Identifier: GPL-2.0-or-later
#include "load_credits.h"

#include <errno.h>
#include <stdlib.h>

#include "eh/idle.h"
#include "eh/member.h"
#include "load_wait.h"

#define CREDITS_TICKS 0x1p16 /* of the members' clock, in a service time */

/* A message on its way, or (answered) what a member has to say to its own node. */
struct credits_parcel {
	double due;
	uint32_t from, to;
	bool answered;
	struct eh_idle_message message;
};

struct load_credits {
	load_credits_fn answered;
	struct eh_idle **members;
	uint64_t *messages; /* that a node has sent or got as a controller */
	struct ring now, late; /* of parcels, each in the order of time */
	uint32_t stepping;
	bool delivering, begun;
};

/* ---- messages ---- */

static void credits_post(struct eh_load *load, struct ring *r, const struct credits_parcel *p)
{
	if (!ring_add(r, p))
		load->no_memory = true;
}

/* An ask names the task, and which of those that had its place in memory. */
static uint64_t credits_id_of(const struct eh_load *load, uint32_t task)
{
	return (uint64_t)load->tasks[task].turn << 32 | task;
}

/* The task that an ask is for; NULL: it does not wait any more. */
static struct load_task *credits_task_of(const struct eh_load *load, uint64_t id)
{
	struct load_task *t = &load->tasks[(uint32_t)id];

	return t->turn == id >> 32 ? t : NULL;
}

/* An answer is counted where the ask had come to, though it takes no other way than to home. */
static void count(struct eh_load *load, const struct eh_idle_message *m)
{
	struct load_task *t;

	switch (m->type) {
	case EH_IDLE_OFFER:
	case EH_IDLE_TAKEN:
	case EH_IDLE_SOME:
		load_count(load, EH_LOAD_CREDIT, m->type == EH_IDLE_SOME ? m->level : 1, 1);
		break;
	case EH_IDLE_ASK:
		load_count(load, m->ask.down ? EH_LOAD_FORWARD : EH_LOAD_ASK,
			   m->level + m->ask.down, 1);
		t = credits_task_of(load, m->ask.id);
		if (t && m->level > t->asked)
			t->asked = (uint8_t)m->level;
		break;
	case EH_IDLE_ANSWER:
		t = credits_task_of(load, m->answer.id);
		load_count(load, EH_LOAD_ANSWER, t ? t->asked : load->options->topology.l, 1);
		break;
	case EH_IDLE_RETURN:
		load_count(load, EH_LOAD_RETURN, 0, 1);
		break;
	}
}

/* Offers, the first step of an ask, answers and returns have a node's own part at one end or both. */
static void credits_count_roles(struct load_credits *c, const struct credits_parcel *p)
{
	const struct eh_idle_message *m = &p->message;
	const bool returned = m->type == EH_IDLE_RETURN;

	c->messages[p->from] += !returned && m->type != EH_IDLE_OFFER &&
				!(m->type == EH_IDLE_ASK && m->ask.hops == 1);
	c->messages[p->to] += !returned && m->type != EH_IDLE_ANSWER && m->type != EH_IDLE_TAKEN;
}

static void credits_on_update(void *ctx, const struct eh_idle_update *up)
{
	struct eh_load *load = ctx;
	struct load_credits *c = load->credits;
	const bool answered = up->type == EH_IDLE_ANSWERED;
	struct credits_parcel p = { .from = c->stepping,
				    .to = answered ? c->stepping : up->node,
				    .answered = answered,
				    .message = *up->message };
	const bool late =
		!answered && p.message.type == EH_IDLE_OFFER && c->begun && load->options->age > 0;

	if (!answered && c->begun) {
		count(load, &p.message);
		credits_count_roles(c, &p);
	}
	p.due = load->now + (late ? load->options->age : 0);
	credits_post(load, late ? &c->late : &c->now, &p);
}

static uint64_t credits_ticks(const struct eh_load *load)
{
	return (uint64_t)(load->now * CREDITS_TICKS);
}

static void credits_step(struct eh_load *load, uint32_t node, const struct eh_idle_event *event)
{
	struct load_credits *c = load->credits;

	c->stepping = node;
	if (eh_idle_step(c->members[node], event, credits_ticks(load), credits_on_update, load))
		load->no_memory = true;
}

/* ---- execs that wait ---- */

static void credits_give_back(struct eh_load *load, uint32_t home, const struct eh_credit *credit)
{
	credits_step(load, home,
		     &(struct eh_idle_event){ .type = EH_IDLE_UNUSED, .credit = *credit });
}

static void credits_on_answer(struct eh_load *load, uint32_t home, const struct eh_idle_message *m)
{
	const struct eh_credit *credit = m->answer.found ? &m->answer.credit : NULL;
	struct load_task *t = credits_task_of(load, m->answer.id);

	if (t) {
		load_wait_drop(load, (uint32_t)m->answer.id);
		if (load->now > t->arrived) {
			load->result->held++;
			load->result->overdue += !credit || credit->tier;
		}
		load->credits->answered(load, (uint32_t)m->answer.id, credit);
	} else if (credit) {
		credits_give_back(load, home, credit);
	}
}

/* Until there is nothing more to say. */
static void credits_deliver(struct eh_load *load)
{
	struct load_credits *c = load->credits;

	if (c->delivering)
		return;
	c->delivering = true;
	while (c->now.count && !load->no_memory) {
		const struct credits_parcel p = *(struct credits_parcel *)ring_first(&c->now);

		ring_drop(&c->now);
		if (p.answered)
			credits_on_answer(load, p.to, &p.message);
		else
			credits_step(load, p.to,
				     &(struct eh_idle_event){ .type = EH_IDLE_MESSAGE,
							      .message = { p.from, &p.message } });
	}
	c->delivering = false;
}

void load_credits_want(struct eh_load *load, uint32_t task)
{
	struct load_task *t = &load->tasks[task];
	const double hold = load->options->hold * t->service * CREDITS_TICKS;

	t->asked = 0;
	load_wait_add(load, task);
	credits_step(load, t->home,
		     &(struct eh_idle_event){
			     .type = EH_IDLE_WANT,
			     .want = { credits_id_of(load, task),
				       hold < UINT32_MAX ? (uint32_t)hold : UINT32_MAX } });
	credits_deliver(load);
}

/* ---- credits ---- */

void load_credits_tell(struct eh_load *load, uint32_t node)
{
	const struct load_node *n = &load->nodes[node];

	credits_step(
		load, node,
		&(struct eh_idle_event){ .type = EH_IDLE_TASKS, .tasks = n->running + n->waiting });
	credits_deliver(load);
}

bool load_credits_accept(struct eh_load *load, const struct eh_credit *credit)
{
	struct load_credits *c = load->credits;
	bool accepted;

	c->stepping = credit->node;
	accepted = eh_idle_accept(c->members[credit->node], credit, credits_ticks(load),
				  credits_on_update, load);
	credits_deliver(load);
	return accepted;
}

void load_credits_return(struct eh_load *load, uint32_t home, const struct eh_credit *credit)
{
	credits_give_back(load, home, credit);
	credits_deliver(load);
}

/* ---- time ---- */

/* The top is on node 0. */
static double credits_held_due(const struct eh_load *load)
{
	uint64_t until = eh_idle_held_until(load->credits->members[0]);

	return until == UINT64_MAX ? INFINITY : (double)until / CREDITS_TICKS;
}

double load_credits_due(const struct eh_load *load)
{
	const struct credits_parcel *p = ring_first(&load->credits->late);
	double news = p ? p->due : INFINITY, held = credits_held_due(load);

	return news < held ? news : held;
}

void load_credits_happen(struct eh_load *load)
{
	struct load_credits *c = load->credits;

	for (const struct credits_parcel *p; (p = ring_first(&c->late)) && p->due <= load->now;
	     ring_drop(&c->late))
		credits_post(load, &c->now, p);
	if (credits_held_due(load) <= load->now)
		credits_step(load, 0, &(struct eh_idle_event){ .type = EH_IDLE_TICK });
	credits_deliver(load);
}

uint64_t load_credits_busiest(const struct eh_load *load)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < load->size; i++)
		most = load->credits->messages[i] > most ? load->credits->messages[i] : most;
	return most;
}

/* ---- set-up and end ---- */

/* The lowest node of each group leads it, as with members that all live (eh/member.h). */
static void credits_set_role(struct eh_load *load, uint32_t node)
{
	const struct eh_topology *t = &load->options->topology;
	unsigned int rank = 0;
	uint32_t parent;

	while (rank < t->l && !(node & ((1u << t->n * (rank + 1)) - 1)))
		rank++;
	parent = rank < t->l ? node >> t->n * (rank + 1) << t->n * (rank + 1) : EH_NO_NODE;
	credits_step(load, node,
		     &(struct eh_idle_event){ .type = EH_IDLE_ROLE, .role = { rank, parent } });
}

int load_credits_init(struct eh_load *load, load_credits_fn answered)
{
	const struct eh_load_options *o = load->options;
	struct eh_idle_options options = { .topology = o->topology,
					   .life = 1,
					   .processors = o->processors,
					   /* never: there are no heartbeats */
					   .heartbeat_ms = UINT32_MAX,
					   .lease_ms = UINT32_MAX };
	struct load_credits *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	load->credits = c;
	c->answered = answered;
	c->now.each = c->late.each = sizeof(struct credits_parcel);
	c->members = calloc(load->size, sizeof(c->members[0]));
	c->messages = calloc(load->size, sizeof(c->messages[0]));
	if (!c->members || !c->messages)
		return -ENOMEM;
	for (uint32_t i = 0; i < load->size; i++) {
		options.self = i;
		options.seed = eh_random(&load->random);
		c->members[i] = eh_idle_new(&options);
		if (!c->members[i])
			return -ENOMEM;
	}
	/* the top */
	if (o->hold > 0)
		eh_idle_hold(c->members[0], (uint64_t)load->size * o->processors);
	/* a leader is there before those that it leads */
	for (uint32_t i = 0; i < load->size && !load->no_memory; i++) {
		credits_set_role(load, i);
		credits_deliver(load);
	}
	c->begun = true;
	return load->no_memory ? -ENOMEM : 0;
}

void load_credits_free(struct eh_load *load)
{
	struct load_credits *c = load->credits;

	if (!c)
		return;
	for (uint32_t i = 0; c->members && i < load->size; i++)
		eh_idle_free(c->members[i]);
	free(c->members);
	free(c->messages);
	ring_free(&c->now);
	ring_free(&c->late);
	free(c);
	load->credits = NULL;
}

size_t load_credits_bytes(const struct eh_load *load)
{
	const struct load_credits *c = load->credits;
	size_t bytes = sizeof(*c) + (c->now.size + c->late.size) * c->now.each;

	for (uint32_t i = 0; i < load->size; i++)
		bytes += sizeof(c->members[0]) + sizeof(load->waits[0]) + sizeof(c->messages[0]) +
			 eh_idle_bytes(c->members[i]);
	return bytes;
}
