/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file tree_lag.h
 * What controllers know lags behind: reports of loads arrive `lag` after they are sent. What a controller
 * has placed itself it knows at once.
 */
#ifndef EH_TREE_LAG_H
#define EH_TREE_LAG_H

#include "tree_inside.h"

/** Makes room for one more report, so that tree_lag_add() cannot fail. 0 or -ENOMEM. */
int tree_lag_reserve(struct eh_tree *t);
/** Sends a report: the leaf's load has changed by `delta`. */
void tree_lag_add(struct eh_tree *t, uint32_t leaf, int64_t delta);
/** Delivers the reports that are due. */
void tree_lag_deliver(struct eh_tree *t);

#endif
