// SPDX-License-Identifier: GPL-2.0-or-later
/* Any series of events: answers are right in form, thresholds change at most once a step, and errors emit nothing. */
#include <stdlib.h>
#include <string.h>

#include "eh/eh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	const struct eh_event *event;
	unsigned int thresholds, answers;
};

static void emit(void *ctx, const struct eh_update *u)
{
	struct seen *seen = ctx;

	seen->thresholds += u->type == EH_UP_THRESHOLD;
	seen->answers += u->type == EH_UP_PLACE || u->type == EH_UP_NONE;
	if (u->type == EH_UP_PLACE &&
	    (u->child == seen->event->child || u->id != seen->event->arrive.id))
		abort();
}

/* A rule is left empty, which is refused. */
static struct eh_event event_of(const uint8_t *data, const uint64_t *list)
{
	struct eh_event e = { .type = data[0] % (EH_EV_TICK + 2), .child = data[1] % 9 };
	/* large values are spread over the whole range */
	uint64_t value = (uint64_t)(data[2] & 15) << (data[2] >> 4) * 4;

	switch (e.type) {
	case EH_EV_JOIN:
		e.join = (struct eh_report){ .load = value,
					     .threshold = data[3] * 500u,
					     .length = data[4] * 250u,
					     .floor = data[5] * 100u,
					     .capacity = data[6] * 1000ull,
					     .dwell = data[5] & 1 };
		break;
	case EH_EV_DRAIN:
		e.drain.draining = data[2] & 1;
		break;
	case EH_EV_REPORT:
		e.report = (struct eh_event_report){
			.load = value, .dwell = data[5] & 1, .seen = list, .nseen = data[3] % 3
		};
		break;
	case EH_EV_ARRIVE:
		e.arrive = (struct eh_event_arrive){ .id = data[7],
						     .size = value,
						     .tried = data[4] & 1 ? list : NULL };
		break;
	case EH_EV_FAILED:
		e.failed.id = data[7];
		break;
	default:
		break;
	}
	return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct eh_group *group = eh_group_new(&(struct eh_group_options){
		.n = 3, .least = size % 2, .grant_ms = 50, .calm_ms = 50, .seed = size });
	uint64_t now = 0;

	for (; group && size >= 8; data += 8, size -= 8) {
		uint64_t list[2] = { data[6], data[7] };
		struct eh_event e = event_of(data, list);
		struct seen seen = { .event = &e };
		struct eh_sums before, after;
		int err;

		eh_group_sums(group, &before);
		now += data[5];
		err = eh_group_step(group, &e, now, emit, &seen);
		eh_group_sums(group, &after);
		if (err &&
		    (seen.thresholds || seen.answers || memcmp(&before, &after, sizeof(before))))
			abort();
		if (!err &&
		    (seen.answers != (e.type == EH_EV_ARRIVE) || after.epoch - before.epoch > 1 ||
		     seen.thresholds != (after.epoch - before.epoch) * after.members))
			abort();
		/* theorem 4.1 */
		if (!err && e.type == EH_EV_TICK && seen.thresholds && after.state == EH_SENDER)
			abort();
	}
	eh_group_free(group);
	return 0;
}
