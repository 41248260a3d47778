/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file doctor.h
 * What is wrong on this node, and how to fix it: the checks of `ehctl doctor`.
 */
#ifndef AGENT_CTL_DOCTOR_H
#define AGENT_CTL_DOCTOR_H

#include <jansson.h>

struct agent;

json_t *doctor_report(struct agent *agent);

#endif
