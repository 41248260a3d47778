/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file tree_policy.h
 * TaskArrive, WhoDoTask and TaskFinish of paper 4, section 5, for all policies. They get an
 * event that eh_tree_step() has checked, and fill in what it did.
 */
#ifndef EH_TREE_POLICY_H
#define EH_TREE_POLICY_H

#include "tree_inside.h"

/** A task arrives, or ends. */
void tree_policy_arrive(struct eh_tree *t, const struct eh_tree_event *event,
			struct eh_tree_update *up);
void tree_policy_finish(struct eh_tree *t, const struct eh_tree_event *event,
			struct eh_tree_update *up);
/** A task whose place is known already. */
void tree_policy_place(struct eh_tree *t, const struct eh_tree_event *event);

#endif
