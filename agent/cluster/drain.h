/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file drain.h
 * A node that takes no new tasks (agent->draining), and who wished that, and why: administrators, or its
 * owner (owner.h), each without the other.
 */
#ifndef AGENT_CLUSTER_DRAIN_H
#define AGENT_CLUSTER_DRAIN_H

#include <jansson.h>
#include <stdbool.h>

struct agent;
struct peer;

enum drain_extent {
	DRAIN_NOT,
	DRAIN_GUESTS, /* it takes no new tasks */
	DRAIN_ALL, /* and sends none away */
};

/** Drains this node, or ends that. `by` ("ann@build1") and `reason` are shown to people; NULL or "": unknown. */
void drain_set(struct agent *agent, enum drain_extent extent, const char *by, const char *reason);
/** The same for its owner, who needs it now or not. */
void drain_set_owned(struct agent *agent, bool owned, const char *by);
/** {"by","reason","since"}, or null if this node does not drain. The caller owns it. */
json_t *drain_json(const struct agent *agent);
/** The reason, ""  if there is none. */
const char *drain_reason(const struct agent *agent);
/** Whether it drains for its owner only. */
bool drain_is_owned(const struct agent *agent);
void drain_exit(struct agent *agent);

/** Handler of POST /v1/drain. */
json_t *drain_on_request(struct agent *agent, struct peer *from, const json_t *body, int *status);

#endif
