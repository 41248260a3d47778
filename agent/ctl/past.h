/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file past.h  Questions of ehctl about tasks that have ended. */
#ifndef AGENT_CTL_PAST_H
#define AGENT_CTL_PAST_H

#include <jansson.h>
#include <stdbool.h>

struct ctl_conn;

/** `history`: a page of the tasks that the caller may see. */
void past_request(struct ctl_conn *c, const json_t *request);
/** Answers `why` for a task that nothing but the history knows. `timing`: when its steps were is asked, too, and not known. */
void past_why(struct ctl_conn *c, const char *id, bool timing);

#endif
