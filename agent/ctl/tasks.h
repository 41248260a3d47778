/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file tasks.h
 * The tasks that this node knows of: managed ones that run here, tasks away, guests.
 */
#ifndef AGENT_CTL_TASKS_H
#define AGENT_CTL_TASKS_H

#include <jansson.h>
#include <sys/types.h>

#include "ctl/viewer.h"

struct agent;
struct survey_kind;
struct ctl_conn;

#define TASKS_WHY 512
#define TASKS_ID 128

/** Those that this viewer may see, as in `tasks --json`. The caller owns the list. */
json_t *tasks_list(struct agent *agent, const struct viewer *viewer);

/** The users with tasks of this node that run, here or away: at most `most`. Returns how many. */
unsigned int tasks_users(struct agent *agent, uid_t *uids, unsigned int most);

/** Replies to `tasks`: those of tasks_list(), with what executors say of the usage of this node's. */
void tasks_request(struct ctl_conn *c, const json_t *request);

/** Tells a viewer of this or another node of them, as survey.h wishes. */
extern const struct survey_kind tasks_kind;

/** One that runs, whoever's it is; NULL: none. The caller owns it. */
json_t *tasks_by_id(struct agent *agent, const char *id);

/**
 * The ID that a text stands for: an ID, the same with the host instead of its code, or with only the
 * last figures of its number, as `short` of tasks_list() has them. 0; -ENOENT: none; -ENOTUNIQ:
 * several, which why[] names.
 */
int tasks_find(struct agent *agent, const char *text, char id[TASKS_ID], char why[TASKS_WHY]);

#endif
