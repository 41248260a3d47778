/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file past.h  Questions of ehctl about tasks that have ended. */
#ifndef AGENT_CTL_PAST_H
#define AGENT_CTL_PAST_H

#include <jansson.h>
#include <stdbool.h>

struct ctl_conn;
struct survey_kind;

/** `history`: a page of the tasks that the caller may see, or groups of them. */
void past_request(struct ctl_conn *c, const json_t *request);
/** Copies the filters of a request into `ask`. False: it is wrong, or asks for others' tasks; that was answered. */
bool past_check(struct ctl_conn *c, const json_t *request, json_t *ask);
/**
 * Tells the same to a viewer of this or another node, as survey.h wishes. The question has the members of `history`, but for the user: `owner` and `owner_name`, as they are at
 * the viewer's node.
 */
extern const struct survey_kind past_kind, past_groups_kind, past_hours_kind;

#endif
