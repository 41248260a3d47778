/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file past.h  Questions of ehctl about tasks that have ended. */
#ifndef AGENT_CTL_PAST_H
#define AGENT_CTL_PAST_H

#include <jansson.h>
#include <stdbool.h>

struct ctl_conn;
struct survey_kind;

/** `history`: a page of the tasks that the caller may see. */
void past_request(struct ctl_conn *c, const json_t *request);
/**
 * Tells a viewer of this or another node of a page of them, the newest first, as survey.h wishes. The
 * question has the members of `history`, but for the user: `owner` and `owner_name`, as they are at
 * the viewer's node.
 */
extern const struct survey_kind past_kind;

#endif
