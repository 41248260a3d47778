// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A member of the hierarchy against any sequence of its events, with values at and beyond each limit: what it takes
 * stays within its bounds, what it says is something that others take, and the rule goes back only
 * when the parent has said an older one for half a heartbeat (docs/protocol.md).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "eh/member.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NODES 64

/* Small ones, tasks, and those at a limit. */
static uint64_t value(struct input *in)
{
	static const uint64_t limits[] = { EH_VALUE_MAX, INT64_MAX, UINT64_MAX, UINT32_MAX,
					   1ull << 32,	 INT32_MAX, 1ull << 63, EH_TASK };
	const uint8_t b = input_byte(in);

	if (b < 64)
		return b;
	if (b < 128)
		return (uint64_t)(b - 64) * EH_TASK;
	if (b < 192)
		return 1ull << (b - 128);
	return limits[b & 7] + (b >> 3 & 7) - 4;
}

static uint32_t node(struct input *in)
{
	const uint8_t b = input_byte(in);

	return b == 255 ? EH_NO_NODE : b == 254 ? 1u << 31 : b % (NODES + 2);
}

static struct eh_report report(struct input *in)
{
	struct eh_report r;
	const uint8_t flags = input_byte(in);

	r.load = value(in);
	r.threshold = value(in);
	r.length = value(in);
	r.floor = flags & 4 ? value(in) : 0;
	r.capacity = flags & 8 ? value(in) : EH_TASK;
	r.nodes = flags & 16 ? value(in) : 1;
	r.draining = flags & 1;
	r.dwell = flags & 2;
	return r;
}

static struct eh_message_ask ask(struct input *in)
{
	struct eh_message_ask a = { .id = input_byte(in), .size = value(in), .home = node(in) };

	a.at_home.load = value(in);
	a.at_home.threshold = value(in);
	a.at_home.length = value(in);
	a.at_home.capacity = input_byte(in) & 1 ? value(in) : EH_TASK;
	a.at_home.nodes = 1;
	a.leaves = input_byte(in) & 1;
	a.probes = value(in);
	/* one more than there is room for is a lie that no list stands behind */
	a.ntried = input_byte(in) % (EH_TRIED_MAX + 2);
	for (size_t i = 0; i < a.ntried && i < EH_TRIED_MAX; i++)
		a.tried[i] = node(in);
	a.npath = input_byte(in) % (EH_ROUTE_MAX + 2);
	for (size_t i = 0; i < a.npath && i < EH_ROUTE_MAX; i++)
		a.path[i] = (struct eh_probe){ input_byte(in) & 3, node(in), input_byte(in) % 3 };
	a.nroute = input_byte(in) % (EH_ROUTE_MAX + 2);
	for (size_t i = 0; i < a.nroute && i < EH_ROUTE_MAX; i++)
		a.route[i] = node(in);
	return a;
}

static void message(struct input *in, struct eh_message *m, uint64_t *seen)
{
	const uint8_t how = input_byte(in);

	*m = (struct eh_message){ .type = how % EH_MSG_TYPES, .level = input_byte(in) & 3 };
	if (how & 128)
		m->rule = (struct eh_rule){ value(in), value(in), value(in) };
	switch (m->type) {
	case EH_MSG_REPORT:
		m->report.own = report(in);
		m->report.nbest = input_byte(in) % (EH_BEST_MAX + 2);
		for (size_t i = 0; i < m->report.nbest && i < EH_BEST_MAX; i++)
			m->report.best[i] = (struct eh_candidate){ node(in), value(in), value(in),
								   value(in), input_byte(in) & 1 };
		m->report.nseen = input_byte(in) & 7;
		m->report.seen = seen;
		for (size_t i = 0; i < m->report.nseen; i++)
			seen[i] = input_byte(in);
		break;
	case EH_MSG_REDIRECT:
		m->redirect.to = node(in);
		break;
	case EH_MSG_ASK:
		m->ask = ask(in);
		break;
	case EH_MSG_ANSWER:
		m->answer.ask = ask(in);
		m->answer.to = node(in);
		m->answer.why = input_byte(in) & 3;
		break;
	case EH_MSG_FAILED:
		m->failed = (struct eh_message_failed){ input_byte(in), node(in) };
		break;
	default:
		break;
	}
}

#define HEARTBEAT 1000

struct seen {
	struct eh_rule rule;
	uint64_t now;
	uint64_t back_at; /* the rule went back then; at first the start */
};

static bool is_older(const struct eh_rule *a, const struct eh_rule *b)
{
	return a->epoch < b->epoch;
}

static void emit(void *ctx, const struct eh_member_update *up)
{
	struct seen *s = ctx;

	must(up->type != EH_MU_SEND || up->node < NODES);
	must(up->type != EH_MU_SEND || up->message->type < EH_MSG_TYPES);
	must(up->type != EH_MU_SEND || (up->message->level >= 1 && up->message->level <= 2));
	/* else nobody would take it */
	must(up->type != EH_MU_SEND || up->message->rule.epoch <= INT64_MAX);
	must(up->type != EH_MU_SEND || up->message->type != EH_MSG_REPORT ||
	     (up->message->report.own.load <= EH_VALUE_MAX * NODES &&
	      up->message->report.nbest <= EH_BEST_MAX &&
	      up->message->report.nseen <= EH_SEEN_MAX));
	if (up->type != EH_MU_THRESHOLD)
		return;
	must(up->rule.capacity);
	if (is_older(&up->rule, &s->rule)) {
		must(s->now - s->back_at >= HEARTBEAT / 2);
		s->back_at = s->now;
	}
	s->rule = up->rule;
}

static void step(struct input *in, struct eh_member *m, struct seen *s)
{
	static const enum eh_member_event_type types[] = {
		EH_ME_TICK,    EH_ME_KNOWN,   EH_ME_UNKNOWN, EH_ME_GONE,
		EH_ME_MESSAGE, EH_ME_LOAD,    EH_ME_ASK,     EH_ME_FAILED,
		EH_ME_LEAVE,   EH_ME_MESSAGE, EH_ME_MESSAGE, EH_ME_MESSAGE,
	};
	struct eh_member_event e = {
		.type = types[input_byte(in) % (sizeof(types) / sizeof(types[0]))]
	};
	uint32_t tried[EH_TRIED_MAX + 2];
	struct eh_message msg;
	uint64_t seen[8];
	int err;

	switch (e.type) {
	case EH_ME_KNOWN:
	case EH_ME_UNKNOWN:
	case EH_ME_GONE:
		e.node = node(in);
		break;
	case EH_ME_MESSAGE:
		message(in, &msg, seen);
		e.message = (struct eh_member_event_message){ node(in), &msg };
		break;
	case EH_ME_LOAD:
		e.load.own = report(in);
		break;
	case EH_ME_ASK:
		e.ask = (struct eh_member_event_ask){ .id = input_byte(in),
						      .size = value(in),
						      .tried = tried };
		e.ask.ntried = input_byte(in) % (EH_TRIED_MAX + 3);
		for (size_t i = 0; i < e.ask.ntried; i++)
			tried[i] = node(in);
		e.ask.leaves = input_byte(in) & 1;
		break;
	case EH_ME_FAILED:
		e.failed.id = input_byte(in);
		e.failed.to = node(in);
		e.failed.decider =
			(struct eh_probe){ input_byte(in) & 3, node(in), input_byte(in) % 3 };
		break;
	default:
		break;
	}
	err = eh_member_step(m, &e, s->now, emit, s);
	must(!err || err == -EINVAL || err == -ENOMEM || err == -EPERM);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	const uint8_t how = input_byte(&in);
	const struct eh_member_options options = { .topology = { 3, 2 },
						   .self = (how & 7) * 8 + (how >> 3 & 1),
						   .heartbeat_ms = HEARTBEAT,
						   .grant_ms = 1000,
						   .calm_ms = how & 32 ? 500 : 1, /* 0: README.md */
						   .lazy = how & 64,
						   .least = how & 128,
						   .seed = 1 };
	struct eh_member *m = eh_member_new(&options);
	const uint64_t start = how & 16 ? UINT64_MAX - 5000 : 0;
	struct seen s = { .now = start, .back_at = start };

	while (m && in.left) {
		step(&in, m, &s);
		s.now += input_byte(&in);
		must(eh_member_rank(m) <= 2);
		must(eh_member_parent(m) == EH_NO_NODE || eh_member_parent(m) < NODES);
	}
	eh_member_free(m);
	return 0;
}
