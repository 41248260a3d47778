// SPDX-License-Identifier: GPL-2.0-or-later
#include "home/counters.h"

#include <errno.h>
#include <stdlib.h>
#include <linux/ehsched.h>
#include <jansson.h>

#include "base/agent.h"
#include "net/peer.h"
#include "net/peers.h"
#include "node/kernel.h"
#include "wire/reason.h"

/* Placements by what was decided here: of ehctl exec, and of execs about which the module asked. */
struct counters {
	uint64_t own[REASON_OWN_END];
};

/* Whether the module's count for it is told. It may have none in verdicts, and has others for them (kernel_verdict()). */
static bool counters_is_modules(unsigned int reason)
{
	return reason == EHS_REASON_NONE || reason_is_kernels(reason);
}

void counters_started(const struct peer *executor, enum ehs_reason reason)
{
	struct agent *agent = executor->agent;
	struct peer *p = peers_by_code(agent, executor->code);

	if (p)
		p->ran++;
	agent->counters->own[reason]++;
}

void counters_stays(struct agent *agent, enum ehs_reason reason)
{
	/* A time-out of both, or a killed task, is counted there. */
	if (!counters_is_modules(reason) || reason == EHS_REASON_NOT_SENDER)
		agent->counters->own[reason]++;
}

static void counters_on_counter(void *ctx, uint32_t reason, uint64_t count)
{
	if (reason <= EHS_REASON_MAX)
		((uint64_t *)ctx)[reason] += count;
}

/* Whether execs that the module counts for this reason continued here as this node's own tasks. */
static bool counters_is_local(unsigned int reason)
{
	return reason != EHS_REASON_SENDER && reason != EHS_REASON_AUTO &&
	       reason != EHS_REASON_GUEST && reason != EHS_REASON_STUB;
}

void counters_add(struct agent *agent, json_t *status)
{
	json_t *placed = json_array(), *reasons = json_array();
	uint64_t module[EHS_REASON_MAX + 1] = { 0 }, local = 0, count;
	struct peer *p;

	/* Without the module all stay 0, because nobody sees what starts here. */
	kernel_counters(agent, counters_on_counter, module);
	for (unsigned int r = 0; r < REASON_OWN_END; r++) {
		count = agent->counters->own[r];
		if (r <= EHS_REASON_MAX && counters_is_modules(r))
			count += module[r];
		if (r <= EHS_REASON_MAX && counters_is_local(r))
			local += module[r];
		if (count)
			json_array_append_new(reasons,
					      json_pack("{s:s,s:I}", "reason", reason_name(r),
							"tasks", (json_int_t)count));
	}
	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p))
		json_array_append_new(placed,
				      json_pack("{s:s,s:I}", "executor", peer_code(p), "tasks",
						(json_int_t)(p->self ? local : p->ran)));
	json_object_set_new(status, "placed", placed);
	json_object_set_new(status, "reasons", reasons);
}

int counters_init(struct agent *agent)
{
	agent->counters = calloc(1, sizeof(*agent->counters));
	return agent->counters ? 0 : -ENOMEM;
}

void counters_exit(struct agent *agent)
{
	free(agent->counters);
	agent->counters = NULL;
}
