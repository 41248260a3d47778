/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cluster of nodes with credits (lib/eh/idle.h) for tests, over a network that loses, doubles and delays
 * messages, while nodes die. No credit may be accepted twice.
 */
#ifndef UNIT_IDLE_WORLD_H
#define UNIT_IDLE_WORLD_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "eh/rule.h"
#include "idle_look.h"
#include "random.h"

#define NODES_MAX 64
#define HEARTBEAT 800
#define LEASE 1500
#define PARCELS_MAX 20000
#define ASKS_MAX 40000
#define NO_NODE UINT32_MAX

/* A message, or (task) a task that travels with its credit. */
struct parcel {
	uint64_t at;
	uint32_t from, to;
	bool task;
	struct eh_credit credit;
	struct eh_idle_message message;
};

static struct eh_topology shape;
static struct node {
	struct eh_idle *idle; /* NULL: dead */
	uint64_t life;
	unsigned int tasks, rank;
	uint32_t parent;
	struct eh_credit accepted[ASKS_MAX / 16]; /* in this life */
	size_t naccepted;
} nodes[NODES_MAX];
static struct parcel parcels[PARCELS_MAX];
static size_t nparcels;
static uint8_t answers[ASKS_MAX]; /* by id of an ask */
static struct eh_credit answer_of[ASKS_MAX];
static bool found[ASKS_MAX];
static uint64_t nasks, now, sent, accepts, declines;
static unsigned int size, processors, delay, loss, doubled; /* percent */
static uint32_t stepping;

static inline void post(struct parcel p)
{
	if (random_below(100) < loss)
		return;
	for (unsigned int copies = 1 + (random_below(100) < doubled); copies; copies--) {
		p.at = now + 1 + random_below(delay + 1);
		assert_true(nparcels < PARCELS_MAX);
		parcels[nparcels++] = p;
	}
}

static inline bool same(const struct eh_credit *a, const struct eh_credit *b)
{
	return a->node == b->node && a->life == b->life && a->tier == b->tier &&
	       a->serial == b->serial;
}

static inline void on_update(void *ctx, const struct eh_idle_update *up)
{
	const struct eh_idle_message *m = up->message;

	if (up->type == EH_IDLE_SEND) {
		assert_true(up->node < size && up->node != stepping);
		sent++;
		post((struct parcel){ .from = stepping, .to = up->node, .message = *m });
		return;
	}
	assert_int_equal(m->type, EH_IDLE_ANSWER);
	assert_true(m->answer.id < nasks);
	/* no credit is taken for two execs, whoever let them */
	for (uint64_t id = 0; m->answer.found && id < nasks; id++)
		assert_false(id != m->answer.id && found[id] &&
			     same(&answer_of[id], &m->answer.credit));
	answers[m->answer.id] += answers[m->answer.id] < 255;
	found[m->answer.id] = m->answer.found;
	answer_of[m->answer.id] = m->answer.credit;
}

static inline void step(uint32_t node, struct eh_idle_event event)
{
	if (!nodes[node].idle)
		return;
	stepping = node;
	assert_int_equal(eh_idle_step(nodes[node].idle, &event, now, on_update, NULL), 0);
}

/* Of any sender; refused are those that it may not say (test_idle_may.c). */
static inline void hear(uint32_t node, uint32_t from, const struct eh_idle_message *m)
{
	struct eh_idle_event event = { .type = EH_IDLE_MESSAGE, .message = { from, m } };
	int err;

	stepping = node;
	err = eh_idle_step(nodes[node].idle, &event, now, on_update, NULL);
	assert_true(!err || err == -EPERM);
}

static inline void set_tasks(uint32_t node, unsigned int tasks)
{
	nodes[node].tasks = tasks;
	step(node, (struct eh_idle_event){ .type = EH_IDLE_TASKS, .tasks = tasks });
}

/* Roles as members find them: the lowest living node of a group leads it. */
static inline void set_roles(void)
{
	for (uint32_t i = 0; i < size; i++) {
		struct node *n = &nodes[i];
		unsigned int rank = 0;
		uint32_t parent = NO_NODE, low;

		if (!n->idle)
			continue;
		for (; rank < shape.l; rank++) {
			uint32_t group = i >> shape.n * (rank + 1) << shape.n * (rank + 1);

			for (low = group; !nodes[low].idle; low++)
				;
			if (low != i) {
				parent = low;
				break;
			}
		}
		if (rank == n->rank && parent == n->parent)
			continue;
		n->rank = rank;
		n->parent = parent;
		step(i, (struct eh_idle_event){ .type = EH_IDLE_ROLE, .role = { rank, parent } });
	}
}

static inline void start(uint32_t i)
{
	struct eh_idle_options o = { .topology = shape,
				     .self = i,
				     .life = ++nodes[i].life,
				     .processors = processors,
				     .heartbeat_ms = HEARTBEAT,
				     .lease_ms = LEASE,
				     .seed = random_64() };

	nodes[i].idle = eh_idle_new(&o);
	assert_non_null(nodes[i].idle);
	eh_idle_hold(nodes[i].idle, 64); /* eight */
	nodes[i].tasks = nodes[i].naccepted = 0;
	nodes[i].rank = 99;
}

static inline void world_begin(unsigned int n, unsigned int l, unsigned int c)
{
	shape = (struct eh_topology){ n, l };
	size = 1u << n * l;
	processors = c;
	nparcels = nasks = now = sent = accepts = declines = 0;
	delay = loss = doubled = 0;
	memset(nodes, 0, sizeof(nodes));
	memset(answers, 0, sizeof(answers));
	memset(found, 0, sizeof(found));
	for (uint32_t i = 0; i < size; i++)
		start(i);
	set_roles();
}

static inline void world_end(void)
{
	for (uint32_t i = 0; i < size; i++)
		eh_idle_free(nodes[i].idle);
}

/* A task comes with its credit. */
static inline void come(const struct parcel *p)
{
	struct node *n = &nodes[p->to];
	unsigned int before = n->tasks;

	if (!n->idle)
		return;
	stepping = p->to;
	if (!eh_idle_accept(n->idle, &p->credit, now, on_update, NULL)) {
		declines++;
		return;
	}
	/* there is room for it, and nobody has come with this credit before */
	assert_int_equal(p->credit.life, n->life);
	assert_true(before < (p->credit.tier + 1) * processors);
	for (size_t k = 0; k < n->naccepted; k++)
		assert_false(same(&n->accepted[k], &p->credit));
	assert_true(n->naccepted < ASKS_MAX / 16);
	n->accepted[n->naccepted++] = p->credit;
	n->tasks++;
	accepts++;
}

static inline void run(uint64_t until)
{
	for (; now < until; now++) {
		for (size_t i = 0; i < nparcels;) {
			struct parcel p = parcels[i];

			if (p.at > now) {
				i++;
				continue;
			}
			parcels[i] = parcels[--nparcels];
			if (p.task)
				come(&p);
			else
				step(p.to,
				     (struct eh_idle_event){ .type = EH_IDLE_MESSAGE,
							     .message = { p.from, &p.message } });
		}
		for (uint32_t i = 0; i < size; i++)
			if ((now + i) % (HEARTBEAT / 8) == 0)
				step(i, (struct eh_idle_event){ .type = EH_IDLE_TICK });
	}
}

static inline uint64_t want(uint32_t node, uint32_t hold_ms)
{
	uint64_t id = nasks++;

	assert_true(nasks < ASKS_MAX);
	step(node, (struct eh_idle_event){ .type = EH_IDLE_WANT, .want = { id, hold_ms } });
	return id;
}

/* A task goes where the answer says. */
static inline void use(uint64_t id)
{
	post((struct parcel){ .task = true, .to = answer_of[id].node, .credit = answer_of[id] });
}

/* Credits of a tier of a node: those of the places from its tasks on. */
static inline unsigned int real_credits(const struct node *n, unsigned int tier)
{
	unsigned int begin = tier * processors, end = begin + processors;

	begin = begin > n->tasks ? begin : n->tasks;
	end = end < n->tasks + EH_CREDITS ? end : n->tasks + EH_CREDITS;
	return end > begin ? end - begin : 0;
}

/* What the controllers of level 1 of these nodes could let be taken, and what there is. */
static inline void check_known(uint32_t from, uint32_t to)
{
	for (unsigned int tier = 0; tier < EH_TIERS; tier++) {
		unsigned int known = 0, real = 0;

		for (uint32_t i = from; i < to; i++) {
			if (!nodes[i].idle)
				continue;
			known += idle_credits(nodes[i].idle, tier);
			real += real_credits(&nodes[i], tier);
		}
		assert_int_equal(known, real);
	}
}

static inline void check_all_known(void)
{
	check_known(0, size);
}

#endif
