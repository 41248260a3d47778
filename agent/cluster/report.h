/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file report.h
 * What this node says of itself: to the member of the hierarchy, and to people.
 */
#ifndef AGENT_CLUSTER_REPORT_H
#define AGENT_CLUSTER_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "eh/member.h"

struct agent;

struct report {
	struct eh_report own; /**< what the hierarchy is told */
	bool module;
	uint32_t local, guest, away; /**< tasks */
};

/** This node's, now. */
void report_own(struct agent *agent, struct report *out);
/** A node of `status --json`. */
json_t *report_node(const struct report *r, const char *code, const char *host,
		    json_t *controller_of_stolen);
const char *report_state_name(enum eh_state state);
/** Number of a placement's id for lib/eh. */
uint64_t report_id(const char *placement);

/** Reads a number 0..max of an object. 0 or -EINVAL. */
int report_number(const json_t *body, const char *name, uint64_t max, uint64_t *out);

#endif
