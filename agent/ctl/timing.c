// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/timing.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/agent.h"
#include "base/clock.h"
#include "cluster/timing.h"
#include "executor/guest.h"
#include "home/record.h"
#include "net/link.h"
#include "net/names.h"
#include "net/peer.h"

#define TIMING_ASK_MS 1000 /* how long an executor is waited for */
#define TIMING_SLACK_US 1000000 /* of another node's clock against ours */

struct timing_ask {
	struct agent *agent;
	json_t *reply;
	timing_done_fn done;
	void *ctx;
	struct peer *executor;
	struct timing home; /* its record may be gone when the executor answers */
};

static json_t *timing_steps(const struct agent *agent, const struct timing *home,
			    const struct timing *there, const char *executor, int64_t *within)
{
	struct timing_line lines[TIMING_STEPS];
	const unsigned int n = timing_lines(home, there, lines, within);
	json_t *steps = json_array(), *step;

	for (unsigned int i = 0; i < n; i++) {
		const enum timing_step at = lines[i].step;

		step = json_pack("{s:s,s:I,s:I,s:s,s:s,s:s}", "step", timing_name(at), "at_us",
				 (json_int_t)(lines[i].us - lines[0].us), "after_us",
				 (json_int_t)(i ? lines[i].us - lines[i - 1].us : 0), "node",
				 timing_is_there(at) ? executor : agent->code, "process",
				 timing_process(at), "what", timing_text(at));
		names_add(agent, step);
		json_array_append_new(steps, step);
	}
	return steps;
}

/* `missing`: what is not among the steps, and why; NULL: nothing. */
static void timing_add(const struct agent *agent, json_t *reply, const struct timing *home,
		       const struct timing *there, const char *executor, const char *missing)
{
	int64_t within;
	json_t *steps = timing_steps(agent, home, there, executor, &within);

	json_object_set_new(reply, "timing",
			    json_pack("{s:o,s:o,s:s?}", "steps", steps, "within_us",
				      within < 0 ? json_null() : json_integer(within), "missing",
				      missing));
}

void timing_past(json_t *reply)
{
	json_object_set_new(reply, "timing",
			    json_pack("{s:[],s:n,s:s}", "steps", "within_us", "missing",
				      "the history does not keep when its steps were"));
}

static void timing_on_answer(void *ctx, int status, const json_t *answer)
{
	struct timing_ask *a = ctx;
	const uint64_t most = clock_us() - a->home.us[TIMING_SENT] + TIMING_SLACK_US;
	const char *host = peer_host(a->executor);
	struct timing there = { { 0 } };
	char missing[256] = "";

	if (!status)
		snprintf(missing, sizeof(missing), "%s does not answer: its steps are left out",
			 host);
	else if (status != 200)
		snprintf(missing, sizeof(missing),
			 "the agent of %s is of an earlier version: its steps are left out", host);
	else if (!timing_from_json(&there, json_object_get(answer, "steps"), most))
		snprintf(missing, sizeof(missing),
			 "%s does not know the task any more: its steps are left out", host);
	else if (!a->home.us[TIMING_SENT])
		snprintf(missing, sizeof(missing),
			 "an earlier agent of this node knew the steps from before");
	timing_add(a->agent, a->reply, &a->home, &there, peer_code(a->executor),
		   *missing ? missing : NULL);
	a->done(a->ctx, a->reply);
	free(a);
}

/* It was away when this agent started. */
static bool timing_is_adopted(const struct placement *p)
{
	return !p->timing.us[TIMING_JOB] && !p->timing.us[TIMING_ASKED];
}

/* The executor is asked for what only it knows. False: out of memory. */
static bool timing_ask(const struct timing_ask *ask)
{
	struct timing_ask *a = malloc(sizeof(*a));

	if (!a)
		return false;
	*a = *ask;
	if (!link_request(a->executor, "/v1/timing",
			  json_pack("{s:O}", "id", json_object_get(a->reply, "id")), TIMING_ASK_MS,
			  timing_on_answer, a))
		return true;
	free(a);
	return false;
}

void timing_find(struct agent *agent, json_t *reply, timing_done_fn done, void *ctx)
{
	const char *id = json_string_value(json_object_get(reply, "id")) ?: "";
	const struct placement *p = record_by_id(agent, id);
	struct timing none = { { 0 } }, there = none;

	if (p && p->to && (p->timing.us[TIMING_ANSWERED] || timing_is_adopted(p))) {
		if (timing_ask(&(struct timing_ask){ agent, reply, done, ctx, p->to, p->timing }))
			return;
		timing_add(agent, reply, &p->timing, &there, agent->code, "out of memory");
	} else if (p) {
		timing_add(agent, reply, &p->timing, &there, agent->code, NULL);
	} else if (guest_timing(agent, id, &there)) {
		timing_add(agent, reply, &none, &there, agent->code,
			   "its home knows the other steps");
	} else {
		timing_add(agent, reply, &none, &there, agent->code,
			   "this agent has not placed it, or does not know it any more");
	}
	done(ctx, reply);
}
