// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Credits: a node with the policy idle against any sequence of its events and of messages as JSON, of any sender. No
 * credit is accepted twice, what it says is something that others take, and nothing goes to a node that is not there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/idle_message.h"
#include "eh/idle_inside.h"
#include "eh/idle_may.h"
#include "eh/member.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NODES 64
#define SELF 8
#define ACCEPTED 256

static const struct eh_topology shape = { 3, 2 };

struct play {
	uint64_t now;
	struct eh_credit accepted[ACCEPTED];
	size_t n;
};

static uint64_t value(struct input *in, uint64_t most)
{
	const uint8_t b = input_byte(in);

	if (b < 192)
		return b < most ? b : most;
	return b < 224 ? most - (b & 7) : most >> (b & 31);
}

static struct eh_credit credit(struct input *in)
{
	struct eh_credit c = { .node = SELF };

	c.tier = input_byte(in) % (EH_TIERS + 1);
	c.life = 1 + (input_byte(in) == 255);
	c.serial = value(in, IDLE_NUMBER_MAX);
	return c;
}

/* What goes out is taken on the other side, the same. */
static void emit(void *ctx, const struct eh_idle_update *up)
{
	struct eh_idle_message back;
	json_t *json, *again;

	must(up->type == EH_IDLE_SEND || up->message->type == EH_IDLE_ANSWER);
	if (up->type != EH_IDLE_SEND)
		return;
	must(up->node < NODES && up->node != SELF);
	json = idle_message_to_json(&shape, up->message);
	must(json && !idle_message_from_json(&shape, json, &back));
	must(eh_idle_may_say(&shape, up->node, SELF, &back) || up->message->type == EH_IDLE_ASK ||
	     up->message->type == EH_IDLE_ANSWER || up->message->type == EH_IDLE_RETURN);
	again = idle_message_to_json(&shape, &back);
	must(json_equal(json, again));
	json_decref(again);
	json_decref(json);
}

static void hear(struct eh_idle *idle, struct input *in, struct play *p)
{
	const uint32_t from = input_byte(in) % NODES;
	size_t n;
	const char *text = (const char *)input_bytes(in, &n);
	json_t *json = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	struct eh_idle_message m;
	struct eh_idle_event event = { .type = EH_IDLE_MESSAGE, .message = { from, &m } };
	int err;

	if (json && !idle_message_from_json(&shape, json, &m)) {
		err = eh_idle_step(idle, &event, p->now, emit, NULL);
		must(!err || err == -EPERM || err == -EINVAL);
	}
	json_decref(json);
}

/* The same without JSON, so that more of them get through. */
static void hear_good(struct eh_idle *idle, struct input *in, struct play *p)
{
	const uint8_t how = input_byte(in);
	struct eh_idle_message m = { .type = how % 6, .level = 1 + (how >> 3 & 1) };
	const uint32_t from = input_byte(in) % NODES;
	struct eh_idle_event event = { .type = EH_IDLE_MESSAGE, .message = { from, &m } };
	struct eh_credit_range *r = &m.offer.credits.range;
	int err;

	switch (m.type) {
	case EH_IDLE_OFFER:
		m.offer.credits.life = 1 + (how >> 4 & 1);
		m.offer.credits.version = value(in, IDLE_NUMBER_MAX);
		m.offer.credits.tasks = (uint32_t)value(in, UINT32_MAX);
		m.offer.credits.processors = (uint32_t)value(in, UINT32_MAX);
		r->first = value(in, IDLE_NUMBER_MAX - EH_CREDIT_WINDOW);
		r->end = r->first + input_byte(in) % (EH_CREDIT_WINDOW + 2);
		r->void_ = value(in, UINT64_MAX);
		m.offer.reign = value(in, IDLE_NUMBER_MAX);
		m.offer.beat = how & 128;
		break;
	case EH_IDLE_TAKEN:
		m.taken.life = 1 + (how >> 4 & 1);
		m.taken.reign = value(in, IDLE_NUMBER_MAX);
		m.taken.next = value(in, IDLE_NUMBER_MAX);
		break;
	case EH_IDLE_SOME:
		m.some.version = value(in, IDLE_NUMBER_MAX);
		m.some.best.tier = input_byte(in) % (EH_TIERS + 1);
		m.some.best.count = value(in, EH_MANY);
		break;
	case EH_IDLE_ASK:
		m.ask = (struct eh_idle_ask){ .id = input_byte(in),
					      .home = input_byte(in) % NODES,
					      .hold_ms = value(in, IDLE_HOLD_MAX_MS),
					      .tier = input_byte(in) % EH_TIERS,
					      .hops = input_byte(in) % (EH_IDLE_HOPS_MAX + 1),
					      .down = how & 32,
					      .missed = how & 64 };
		break;
	case EH_IDLE_ANSWER:
		m.answer.id = input_byte(in);
		m.answer.found = how & 16;
		m.answer.credit = credit(in);
		m.answer.credit.node = input_byte(in) % NODES;
		break;
	case EH_IDLE_RETURN:
		m.credit = credit(in);
		break;
	}
	err = eh_idle_step(idle, &event, p->now, emit, NULL);
	must(!err || err == -EPERM || err == -EINVAL);
}

static void take(struct eh_idle *idle, struct input *in, struct play *p)
{
	const struct eh_credit c = credit(in);

	if (!eh_idle_accept(idle, &c, p->now, emit, NULL))
		return;
	must(c.life == 1);
	for (size_t i = 0; i < p->n; i++)
		must(p->accepted[i].serial != c.serial);
	if (p->n < ACCEPTED)
		p->accepted[p->n++] = c;
}

static void step(struct eh_idle *idle, struct input *in, struct play *p)
{
	struct eh_idle_event event = { .type = input_byte(in) % 9 };
	uint32_t size;
	int err;

	if (event.type == EH_IDLE_MESSAGE) {
		hear(idle, in, p);
		return;
	}
	if (event.type == 7) {
		hear_good(idle, in, p);
		return;
	}
	if (event.type == 8) {
		take(idle, in, p);
		return;
	}
	switch (event.type) {
	case EH_IDLE_TICK:
		p->now += input_byte(in) * 8;
		break;
	case EH_IDLE_TASKS:
		event.tasks = value(in, UINT32_MAX);
		break;
	case EH_IDLE_WANT:
		event.want.id = input_byte(in);
		event.want.hold_ms = value(in, IDLE_HOLD_MAX_MS);
		break;
	case EH_IDLE_UNUSED:
		event.credit = credit(in);
		event.credit.node = input_byte(in) % (NODES + 1);
		break;
	case EH_IDLE_ROLE:
		/* a parent is in the group of the next level */
		event.role.rank = input_byte(in) % (shape.l + 1);
		size = 1u << shape.n * (event.role.rank + 1);
		event.role.parent = SELF / size * size + input_byte(in) % size;
		if (event.role.rank == shape.l || event.role.parent == SELF)
			event.role.parent = EH_NO_NODE;
		break;
	default:
		event.node = input_byte(in);
	}
	err = eh_idle_step(idle, &event, p->now, emit, NULL);
	must(!err || err == -EINVAL || err == -EPERM);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	const struct eh_idle_options options = { .topology = shape,
						 .self = SELF,
						 .life = 1,
						 .processors = 1 + input_byte(&in) % 40,
						 .heartbeat_ms = 800,
						 .lease_ms = 1500,
						 .seed = 1 };
	struct eh_idle *idle = eh_idle_new(&options);
	struct play p = { .now = 1 };
	unsigned int held;

	must(idle);
	held = input_byte(&in) & 15;
	eh_idle_hold(idle, 8 * held);
	while (in.left) {
		step(idle, &in, &p);
		must(idle->nheld <= held);
		for (unsigned int t = 0; t < EH_TIERS; t++)
			must(eh_offer_count(&idle->purse.offer, 0, t) <= EH_CREDITS);
	}
	eh_idle_free(idle);
	return 0;
}
