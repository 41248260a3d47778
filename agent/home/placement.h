/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file placement.h
 * What knl.c and api.c need of placements; the rest is in agent.h and record.h.
 */
#ifndef AGENT_HOME_PLACEMENT_H
#define AGENT_HOME_PLACEMENT_H

#include "base/agent.h"

uint64_t placement_cookie(const struct placement *p);
/** The kernel did not wait for the verdict on this cookie any more. */
void placement_too_late(uint64_t cookie);
enum ehs_reason placement_reason(const struct placement *p);

#endif
