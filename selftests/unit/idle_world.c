// SPDX-License-Identifier: GPL-2.0-or-later
#include "idle_world.h"

#include <errno.h>
#include <string.h>

#define PARCELS_MAX 20000
#define NO_NODE UINT32_MAX

struct idle_world world;

/* A message, or (task) a task that travels with its credit. */
struct parcel {
	uint64_t at;
	uint32_t from, to;
	bool task;
	struct eh_credit credit;
	struct eh_idle_message message;
};
static struct parcel parcels[PARCELS_MAX];
static size_t nparcels;
static uint32_t stepping;

static void post(struct parcel p)
{
	if (random_below(100) < world.loss)
		return;
	for (unsigned int copies = 1 + (random_below(100) < world.doubled); copies; copies--) {
		p.at = world.now + 1 + random_below(world.delay + 1);
		assert_true(nparcels < PARCELS_MAX);
		parcels[nparcels++] = p;
	}
}

bool idle_same(const struct eh_credit *a, const struct eh_credit *b)
{
	return a->node == b->node && a->life == b->life && a->tier == b->tier &&
	       a->serial == b->serial;
}

static void on_update(void *ctx, const struct eh_idle_update *up)
{
	const struct eh_idle_message *m = up->message;

	if (up->type == EH_IDLE_SEND) {
		assert_true(up->node < world.size && up->node != stepping);
		world.sent++;
		post((struct parcel){ .from = stepping, .to = up->node, .message = *m });
		return;
	}
	assert_int_equal(m->type, EH_IDLE_ANSWER);
	assert_true(m->answer.id < world.nasks);
	/* no credit is taken for two execs, whoever let them */
	for (uint64_t id = 0; m->answer.found && id < world.nasks; id++)
		assert_false(id != m->answer.id && world.found[id] &&
			     idle_same(&world.answer_of[id], &m->answer.credit));
	world.answers[m->answer.id] += world.answers[m->answer.id] < 255;
	world.found[m->answer.id] = m->answer.found;
	world.answer_of[m->answer.id] = m->answer.credit;
}

void idle_step(uint32_t node, struct eh_idle_event event)
{
	if (!world.nodes[node].idle)
		return;
	stepping = node;
	assert_int_equal(eh_idle_step(world.nodes[node].idle, &event, world.now, on_update, NULL),
			 0);
}

void idle_hear(uint32_t node, uint32_t from, const struct eh_idle_message *m)
{
	struct eh_idle_event event = { .type = EH_IDLE_MESSAGE, .message = { from, m } };
	int err;

	stepping = node;
	err = eh_idle_step(world.nodes[node].idle, &event, world.now, on_update, NULL);
	assert_true(!err || err == -EPERM);
}

void idle_set_tasks(uint32_t node, unsigned int tasks)
{
	world.nodes[node].tasks = tasks;
	idle_step(node, (struct eh_idle_event){ .type = EH_IDLE_TASKS, .tasks = tasks });
}

void idle_set_roles(void)
{
	for (uint32_t i = 0; i < world.size; i++) {
		struct idle_node *n = &world.nodes[i];
		unsigned int rank = 0;
		uint32_t parent = NO_NODE, low;

		if (!n->idle)
			continue;
		for (; rank < world.shape.l; rank++) {
			uint32_t group = i >> world.shape.n * (rank + 1)
						      << world.shape.n * (rank + 1);

			for (low = group; !world.nodes[low].idle; low++)
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
		idle_step(i,
			  (struct eh_idle_event){ .type = EH_IDLE_ROLE, .role = { rank, parent } });
	}
}

void idle_start(uint32_t i)
{
	struct eh_idle_options o = { .topology = world.shape,
				     .self = i,
				     .life = ++world.nodes[i].life,
				     .processors = world.processors,
				     .heartbeat_ms = HEARTBEAT,
				     .lease_ms = LEASE,
				     .seed = random_64() };

	world.nodes[i].idle = eh_idle_new(&o);
	assert_non_null(world.nodes[i].idle);
	eh_idle_hold(world.nodes[i].idle, 64); /* eight */
	world.nodes[i].tasks = world.nodes[i].naccepted = 0;
	world.nodes[i].rank = 99;
}

void idle_begin(unsigned int n, unsigned int l, unsigned int c)
{
	world.shape = (struct eh_topology){ n, l };
	world.size = 1u << n * l;
	world.processors = c;
	nparcels = world.nasks = world.now = world.sent = world.accepts = world.declines = 0;
	world.delay = world.loss = world.doubled = 0;
	memset(world.nodes, 0, sizeof(world.nodes));
	memset(world.answers, 0, sizeof(world.answers));
	memset(world.found, 0, sizeof(world.found));
	for (uint32_t i = 0; i < world.size; i++)
		idle_start(i);
	idle_set_roles();
}

void idle_end(void)
{
	for (uint32_t i = 0; i < world.size; i++)
		eh_idle_free(world.nodes[i].idle);
}

/* A task comes with its credit. */
static void come(const struct parcel *p)
{
	struct idle_node *n = &world.nodes[p->to];
	unsigned int before = n->tasks;

	if (!n->idle)
		return;
	stepping = p->to;
	if (!eh_idle_accept(n->idle, &p->credit, world.now, on_update, NULL)) {
		world.declines++;
		return;
	}
	/* there is room for it, and nobody has come with this credit before */
	assert_int_equal(p->credit.life, n->life);
	assert_true(before < (p->credit.tier + 1) * world.processors);
	for (size_t k = 0; k < n->naccepted; k++)
		assert_false(idle_same(&n->accepted[k], &p->credit));
	assert_true(n->naccepted < ASKS_MAX / 16);
	n->accepted[n->naccepted++] = p->credit;
	n->tasks++;
	world.accepts++;
}

void idle_run(uint64_t until)
{
	for (; world.now < until; world.now++) {
		for (size_t i = 0; i < nparcels;) {
			struct parcel p = parcels[i];

			if (p.at > world.now) {
				i++;
				continue;
			}
			parcels[i] = parcels[--nparcels];
			if (p.task)
				come(&p);
			else
				idle_step(p.to, (struct eh_idle_event){
							.type = EH_IDLE_MESSAGE,
							.message = { p.from, &p.message } });
		}
		for (uint32_t i = 0; i < world.size; i++)
			if ((world.now + i) % (HEARTBEAT / 8) == 0)
				idle_step(i, (struct eh_idle_event){ .type = EH_IDLE_TICK });
	}
}

uint64_t idle_want(uint32_t node, uint32_t hold_ms)
{
	uint64_t id = world.nasks++;

	assert_true(world.nasks < ASKS_MAX);
	idle_step(node, (struct eh_idle_event){ .type = EH_IDLE_WANT, .want = { id, hold_ms } });
	return id;
}

void idle_use(uint64_t id)
{
	post((struct parcel){
		.task = true, .to = world.answer_of[id].node, .credit = world.answer_of[id] });
}

/* Credits of a tier of a node: those of the places from its tasks on. */
static unsigned int real_credits(const struct idle_node *n, unsigned int tier)
{
	unsigned int begin = tier * world.processors, end = begin + world.processors;

	begin = begin > n->tasks ? begin : n->tasks;
	end = end < n->tasks + EH_CREDITS ? end : n->tasks + EH_CREDITS;
	return end > begin ? end - begin : 0;
}

void idle_check_known(uint32_t from, uint32_t to)
{
	for (unsigned int tier = 0; tier < EH_TIERS; tier++) {
		unsigned int known = 0, real = 0;

		for (uint32_t i = from; i < to; i++) {
			if (!world.nodes[i].idle)
				continue;
			known += idle_credits(world.nodes[i].idle, tier);
			real += real_credits(&world.nodes[i], tier);
		}
		assert_int_equal(known, real);
	}
}

void idle_check_all_known(void)
{
	idle_check_known(0, world.size);
}
