/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file threshold.h
 * How the thresholds of a group follow its load (paper 4, theorems 4.1 and 4.2).
 * For lib/eh only. Nothing here fails; each change is emitted for every child.
 */
#ifndef EH_THRESHOLD_H
#define EH_THRESHOLD_H

#include "group_inside.h"

/** The epoch after this one. */
static inline uint64_t eh_threshold_next(uint64_t epoch)
{
	return epoch < EH_EPOCH_MAX ? epoch + 1 : 1;
}

/** Sets all thresholds by this rule, whose capacity is not 0. */
void eh_threshold_apply(struct eh_group *group, const struct eh_rule *rule, eh_emit_fn emit,
			void *ctx);
/** ThresholdModify of the paper: a new rule from the group's own sums, in the next epoch. */
void eh_threshold_modify(struct eh_group *group, eh_emit_fn emit, void *ctx);
/** The paper's rule on finish: lowers the thresholds after a load that has fallen and stayed low. */
void eh_threshold_relax(struct eh_group *group, uint64_t now, eh_emit_fn emit, void *ctx);

#endif
