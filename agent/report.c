// SPDX-License-Identifier: GPL-2.0-or-later
/* What a member tells its controller of itself. */

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "agent.h"
#include "control.h"
#include "node.h"
#include "report.h"

/* Load that changes by less is noise, however small it was before. */
#define REPORT_NOISE 50

static const char *const report_states[] = { "receiver", "ok", "sender" };

const char *report_state_name(enum eh_state state)
{
	return report_states[state];
}

uint64_t report_id(const char *placement)
{
	return XXH3_64bits(placement, strlen(placement));
}

void report_own(struct report *out)
{
	const struct node_settings *set = node_settings();
	const struct node_view *view = node_view();
	uint64_t floor;

	*out = (struct report){
		.load = node_load(),
		.threshold = set->threshold,
		.length = set->length,
		.floor = agent.config->threshold_floor,
		.capacity = agent.config->capacity,
		.epoch = control_epoch(),
		.state = node_state(),
		.draining = agent.draining,
		.module = agent.module,
		.local = view->local,
		.guest = view->guest,
		.away = view->away,
	};
	/* The core judges by the load. A node that was above until a moment ago is no receiver
	 * before its dwell is over: until then it says that it is just not below. */
	floor = set->threshold > set->length ? set->threshold - set->length : 0;
	if (out->state == EH_OK && out->load < floor)
		out->load = floor;
}

bool report_matters(const struct report *before, const struct report *now)
{
	uint64_t moved =
		before->load > now->load ? before->load - now->load : now->load - before->load;

	return before->state != now->state || before->threshold != now->threshold ||
	       before->length != now->length || before->floor != now->floor ||
	       before->capacity != now->capacity || before->epoch != now->epoch ||
	       before->draining != now->draining || before->module != now->module ||
	       moved >= 1000 || (moved >= REPORT_NOISE && moved * 10 >= before->load);
}

json_t *report_to_json(const struct report *r, json_t *seen)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:b,s:b,s:{s:i,s:i,s:i},s:o*}", "load",
			 (json_int_t)r->load, "threshold", (json_int_t)r->threshold, "length",
			 (json_int_t)r->length, "floor", (json_int_t)r->floor, "capacity",
			 (json_int_t)r->capacity, "epoch", (json_int_t)r->epoch, "state",
			 report_states[r->state], "draining", (int)r->draining, "module",
			 (int)r->module, "tasks", "local", (int)r->local, "guest", (int)r->guest,
			 "away", (int)r->away, "seen", seen);
}

int report_number(const json_t *body, const char *name, uint64_t max, uint64_t *out)
{
	const json_t *value = json_object_get(body, name);
	json_int_t n = json_integer_value(value);

	if (!json_is_integer(value) || n < 0 || (uint64_t)n > max)
		return -EINVAL;
	*out = n;
	return 0;
}

int report_from_json(struct report *out, const json_t *body)
{
	const json_t *tasks = json_object_get(body, "tasks");
	const char *state = json_string_value(json_object_get(body, "state"));
	const uint64_t most = EHS_MAX_LOAD, tasks_most = 1 << 22;
	uint64_t local, guest, away;

	memset(out, 0, sizeof(*out));
	if (report_number(body, "load", UINT32_MAX, &out->load) ||
	    report_number(body, "threshold", most, &out->threshold) ||
	    report_number(body, "length", most, &out->length) ||
	    report_number(body, "floor", most, &out->floor) ||
	    report_number(body, "capacity", most, &out->capacity) ||
	    report_number(body, "epoch", INT64_MAX, &out->epoch) ||
	    report_number(tasks, "local", tasks_most, &local) ||
	    report_number(tasks, "guest", tasks_most, &guest) ||
	    report_number(tasks, "away", tasks_most, &away) || !out->capacity || !state)
		return -EINVAL;
	out->local = local;
	out->guest = guest;
	out->away = away;
	out->draining = json_is_true(json_object_get(body, "draining"));
	out->module = json_is_true(json_object_get(body, "module"));
	for (int i = EH_RECEIVER; i <= EH_SENDER; i++) {
		if (strcmp(state, report_states[i]))
			continue;
		out->state = i;
		return 0;
	}
	return -EINVAL;
}

json_t *report_node(const struct report *r, const char *code, const char *host,
		    const char *controller_of)
{
	json_t *of = json_array();

	if (controller_of)
		json_array_append_new(of, json_string(controller_of));
	if (!r)
		return json_pack("{s:s,s:s,s:s,s:n,s:n,s:n,s:n,s:{s:i,s:i,s:i},s:o,s:b,s:b,s:s}",
				 "code", code, "host", host, "state", "unknown", "load",
				 "threshold", "threshold_length", "capacity", "tasks", "local", 0,
				 "guest", 0, "away", 0, "controller_of", of, "module", 0,
				 "draining", 0, "agent", "down");
	return json_pack("{s:s,s:s,s:s,s:f,s:f,s:f,s:f,s:{s:i,s:i,s:i},s:o,s:b,s:b,s:s}", "code",
			 code, "host", host, "state", report_states[r->state], "load",
			 r->load / 1000.0, "threshold", r->threshold / 1000.0, "threshold_length",
			 r->length / 1000.0, "capacity", r->capacity / 1000.0, "tasks", "local",
			 (int)r->local, "guest", (int)r->guest, "away", (int)r->away,
			 "controller_of", of, "module", (int)r->module, "draining",
			 (int)r->draining, "agent", "up");
}
