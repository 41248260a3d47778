// SPDX-License-Identifier: GPL-2.0-or-later
#include "home/counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/ehsched.h>
#include <jansson.h>

#include "base/agent.h"
#include "net/peer.h"
#include "net/peers.h"
#include "node/kernel.h"
#include "wire/reason.h"

/* Counts placements that the module does not see: those of ehctl exec. */
struct counters {
	uint64_t own[EHS_REASON_MAX + 1];
	uint64_t credits, credits_kernel; /* by a credit; of these, execs that the module saw */
};

void counters_started(const struct peer *executor, enum ehs_reason reason, bool kernel)
{
	struct agent *agent = executor->agent;
	struct peer *p = peers_by_code(agent, executor->code);

	if (p)
		p->ran++;
	if (reason == REASON_CREDIT) {
		agent->counters->credits++;
		agent->counters->credits_kernel += kernel;
	}
	/* The module counts its own. */
	if (!kernel && reason <= EHS_REASON_MAX)
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
	uint64_t count[EHS_REASON_MAX + 1] = { 0 }, local = 0;
	struct peer *p;

	/* Without the module all stay 0, because nobody sees what starts here. */
	kernel_counters(agent, counters_on_counter, count);
	/* It counts those that went by a credit as this (reason_for_kernel()). */
	if (count[EHS_REASON_SENDER] >= agent->counters->credits_kernel)
		count[EHS_REASON_SENDER] -= agent->counters->credits_kernel;
	for (unsigned int r = 0; r <= EHS_REASON_MAX; r++) {
		if (counters_is_local(r))
			local += count[r];
		count[r] += agent->counters->own[r];
		if (count[r])
			json_array_append_new(reasons,
					      json_pack("{s:s,s:I}", "reason", reason_name(r),
							"tasks", (json_int_t)count[r]));
	}
	if (agent->counters->credits)
		json_array_append_new(reasons,
				      json_pack("{s:s,s:I}", "reason", reason_name(REASON_CREDIT),
						"tasks", (json_int_t)agent->counters->credits));
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
