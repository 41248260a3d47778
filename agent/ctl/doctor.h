/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file doctor.h
 * The checks of `ehctl doctor`: what is wrong on this node, and how to fix it.
 */
#ifndef AGENT_CTL_DOCTOR_H
#define AGENT_CTL_DOCTOR_H

#include <jansson.h>

struct agent;

/** The answer as in docs/protocol.md; NULL: out of memory. The caller owns it. */
json_t *doctor_report(struct agent *agent);

#endif
