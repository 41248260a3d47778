// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Slots of builds: claims of nodes that may lie, whose shares stay within what there is; load and capacity at and
 * beyond each limit over any time; and the tokens of a build, which processes take, lose and put in twice, while the
 * account keeps to what is in the pipe.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "eh/eh.h"
#include "eh/slots.h"
#include "eh/tokens.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CLAIMS 24
#define BUILDS_MOST 1024u /* as agent/cluster/slots.c takes them */
#define WANTS_MOST (BUILDS_MOST * EH_SLOTS_MAX)

static uint64_t value(struct input *in, uint64_t most)
{
	const uint8_t b = input_byte(in);
	uint64_t n;

	if (b < 128)
		n = b;
	else if (b < 240)
		n = 1ull << ((b - 128) % 53);
	else
		n = most - (b & 7);
	return n < most ? n : most;
}

/* ---- shares ---- */

static void share(struct input *in)
{
	struct eh_slots_claim claims[CLAIMS];
	const unsigned int slots = value(in, UINT32_MAX);
	const size_t n = input_byte(in) % (CLAIMS + 1);
	uint64_t least = 0, granted = 0;

	for (size_t i = 0; i < n; i++) {
		claims[i] = (struct eh_slots_claim){ .user = input_byte(in) & 3 };
		claims[i].builds = 1 + value(in, BUILDS_MOST - 1);
		claims[i].used = value(in, WANTS_MOST);
		claims[i].wants = value(in, WANTS_MOST);
		least += claims[i].builds;
	}
	must(eh_slots_share(slots, claims, n));
	for (size_t i = 0; i < n; i++) {
		must(claims[i].granted >= claims[i].builds);
		must(claims[i].granted <= EH_SLOTS_MAX * claims[i].builds ||
		     claims[i].granted <= claims[i].wants);
		granted += claims[i].granted;
	}
	must(granted <= (least > slots ? least : slots));
}

/* ---- what is free ---- */

struct world {
	struct eh_slots_others others;
	uint64_t now;
};

static void look(struct input *in, struct world *w)
{
	const uint64_t capacity = value(in, EH_VALUE_MAX), load = value(in, EH_VALUE_MAX);
	const uint64_t used = value(in, 4096ull * WANTS_MOST);
	unsigned int is, offer;

	w->now += value(in, 1ull << 40);
	is = eh_slots_free(&w->others, capacity, load, used, w->now);
	must(is <= capacity / 1000 + 1);
	offer = eh_slots_offer(is, value(in, UINT32_MAX));
	must(offer >= is && offer <= 2 * is);
	/* It is between what there was and what there is. */
	must(w->others.mean <= (int64_t)EH_VALUE_MAX && w->others.mean >= -(int64_t)EH_VALUE_MAX);
	/* The same for long: what was before is forgotten. */
	if (load == capacity && !used && capacity <= EH_NODE_MAX) {
		w->now += 1ull << 42;
		must(eh_slots_free(&w->others, capacity, load, used, w->now) <= 1);
	}
}

/* ---- tokens ---- */

struct build {
	struct eh_tokens account;
	unsigned int free, taken; /* in the pipe; with processes that live */
	bool strange; /* there were more than were made */
};

static void tokens(struct input *in, struct build *b)
{
	const uint8_t what = input_byte(in);
	const unsigned int n = value(in, EH_SLOTS_MAX), most = b->taken < n ? b->taken : n;
	int change;

	switch (what % 7) {
	case 0: /* jobs begin */
		change = b->free < n ? b->free : n;
		b->free -= change;
		b->taken += change;
		return;
	case 1: /* and end */
		b->free += most;
		b->taken -= most;
		return;
	case 2: /* in which some lose theirs, */
		b->taken -= most;
		return;
	case 3: /* and others put in what they never took */
		b->free += b->free + n < 4 * EH_SLOTS_MAX ? n : 0;
		b->strange = true;
		return;
	case 4:
		eh_tokens_granted(&b->account, n);
		must(b->account.should < EH_SLOTS_MAX);
		return;
	case 5:
		must(eh_tokens_wants(&b->account) <= EH_SLOTS_MAX);
		return;
	}
	/* What is seen may be too many, never too few. */
	for (unsigned int looks = 1 + (what >> 3); looks; looks--) {
		change = eh_tokens_look(&b->account, b->free,
					what & 4 ? EH_TOKENS_UNKNOWN : b->taken + (n & 3));
		must(change >= -(int)b->free && b->account.made >= b->free);
		/* Nothing is taken for lost that somebody has. */
		must(b->account.made >= b->free + b->taken || b->strange);
		if (change < 0 && n & 4)
			change /= 2;
		b->free += change;
		eh_tokens_done(&b->account, change);
		must(b->account.made >= b->free && b->account.made < 1u << 30);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct world w = { .now = 1 };
	struct build b = { 0 };

	while (in.left)
		switch (input_byte(&in) & 3) {
		case 0:
			share(&in);
			break;
		case 1:
			look(&in, &w);
			break;
		default:
			tokens(&in, &b);
		}
	return 0;
}
