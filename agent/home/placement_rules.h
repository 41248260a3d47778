/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file placement_rules.h
 * What this node's configuration and administrators say of a task before a place for it is sought: may
 * any, its user's and its program leave, and whose files may it see?
 */
#ifndef AGENT_HOME_PLACEMENT_RULES_H
#define AGENT_HOME_PLACEMENT_RULES_H

#include <stdbool.h>
#include "wire/view.h"

struct config;
struct files_identity;
struct placement;

/** False: it drains and sends none away, and outcome_stays() was called. */
bool placement_node_sends(struct placement *p);
/** False: tasks of its user stay here, and outcome_stays() was called. */
bool placement_user_may_leave(struct placement *p);
/**
 * `identity`: of its program, NULL while that is not known; then a relative path is not judged yet.
 * Enters the labels that a node must have for it. False: it stays, and outcome_stays() was called.
 */
bool placement_may_leave(struct placement *p, const struct files_identity *identity);
/** Whether a rule of this node is about programs. */
bool placement_rules_programs(const struct config *c);
/**
 * Sets the view that it gets if it asks for `wish`; one that this node cannot serve becomes
 * VIEW_SHARED if VIEW_AUTO was asked for. NULL, or why it is refused.
 */
const char *placement_set_view(struct placement *p, enum view wish);

#endif
