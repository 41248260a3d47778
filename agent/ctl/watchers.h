/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file watchers.h
 * Events for those who watch them (`ehctl watch`), but not those of tasks of others. The last ones are
 * kept for surveys.
 */
#ifndef AGENT_CTL_WATCHERS_H
#define AGENT_CTL_WATCHERS_H

struct agent;
struct survey_kind;

/** From now on, until watchers_exit(); the local socket is there for all that time. 0 or -ENOMEM. */
int watchers_init(struct agent *agent);
/**
 * Tells a viewer of the events of the last `since_ms`, the newest first, as survey.h wishes. Each has its
 * `number`, which grows while this agent runs, and `at`: minus the ms that have passed since.
 */
extern const struct survey_kind watchers_kind;
void watchers_exit(struct agent *agent);

#endif
