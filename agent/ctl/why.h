/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file why.h
 * Why a task runs where it runs, or ran: what this node's records know, its list of tasks, its
 * history, and, of a task of another home, what that home says.
 */
#ifndef AGENT_CTL_WHY_H
#define AGENT_CTL_WHY_H

#include <jansson.h>

struct agent;
struct survey_kind;
struct ctl_conn;

/** Answers `why`. */
void why_request(struct ctl_conn *c, const json_t *request);
/** Tells a viewer of another node what this node knows of one task, its `id`: one item, or none. */
extern const struct survey_kind why_kind;

#endif
