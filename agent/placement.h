/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file placement.h
 * What knl.c and api.c need of placements; the rest is in agent.h.
 */
#ifndef AGENT_PLACEMENT_H
#define AGENT_PLACEMENT_H

#include <jansson.h>
#include "agent.h"

uint64_t placement_cookie(const struct placement *p);
/** The kernel did not wait for the verdict on this cookie any more. */
void placement_too_late(uint64_t cookie);

void placement_init(void);
void placement_exit(void);

/** Appends the tasks that are away, as in `tasks --json`. */
void placement_list(json_t *tasks);
/** Reply to `why`, NULL: unknown. */
json_t *placement_why(const char *id);
/** Reason and executor of a placement of the kernel's, for its task dump; NULL: unknown. */
const struct placement *placement_by_cookie(uint64_t cookie);
/** Whether placement_list() has it. */
bool placement_is_away(const struct placement *p);
enum ehs_reason placement_reason(const struct placement *p);

#endif
