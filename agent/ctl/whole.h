/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file whole.h  Requests of ehctl about the whole cluster: a survey, and one list of all answers. */
#ifndef AGENT_CTL_WHOLE_H
#define AGENT_CTL_WHOLE_H

#include <jansson.h>

struct ctl_conn;

/** `tasks` with `all`: each task once. */
void whole_tasks(struct ctl_conn *c);
/** `history` with `all`: a page of those of all homes, the newest first. */
void whole_history(struct ctl_conn *c, const json_t *request);
/** `events`: those of the last `since_ms`, the newest first. */
void whole_events(struct ctl_conn *c, const json_t *request);

#endif
