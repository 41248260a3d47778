/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file report.h
 * What this node reports of itself, to the hierarchy and to people.
 */
#ifndef AGENT_CLUSTER_REPORT_H
#define AGENT_CLUSTER_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "eh/member.h"

struct agent;

struct report {
	struct eh_report own; /**< for the hierarchy */
	bool module;
	uint32_t local, guest, away; /**< tasks */
};

/** Fills in this node's report as of now. */
void report_own(struct agent *agent, struct report *out);
/** A node as in `status --json`; r NULL: nothing is known of it. The caller owns the result. */
json_t *report_node(const struct report *r, const char *code, const char *host,
		    json_t *controller_of_stolen);
const char *report_state_name(enum eh_state state);
/** Hashes a placement's id to the number that lib/eh uses. */
uint64_t report_id(const char *placement);
/** Whether this is the ID of a placement whose home has this code: CODE:NUMBER. */
bool report_id_is_of(const char *placement, const char *code);

/** Reads a member of a JSON object, an integer from 0 to max. 0 or -EINVAL. */
int report_number(const json_t *body, const char *name, uint64_t max, uint64_t *out);

#endif
