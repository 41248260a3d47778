/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file lead.h  The groups that a member leads. For lib/eh only. */
#ifndef EH_LEAD_H
#define EH_LEAD_H

#include "role.h"

/** Leads one level more. The caller tells that, or seeks a parent. 0 or -ENOMEM; then nothing has changed. */
int eh_lead_promote(struct eh_member *m);
/** Leads no level above `rank` any more; the children are told that `to` does. The same. */
void eh_lead_demote(struct eh_member *m, unsigned int rank, uint32_t to);
/** EH_MSG_REPORT of a child, or of a node that takes us for its parent. */
void eh_lead_on_report(struct eh_member *m, uint32_t from, const struct eh_message *msg);
/** The node ended or cannot be reached: it is not a child any more. */
void eh_lead_gone(struct eh_member *m, uint32_t node);
/** Claims known nodes of children from which nothing is heard. */
void eh_lead_claim(struct eh_member *m);
/** Time passes: children that are silent for three heartbeats are gone. */
void eh_lead_expire(struct eh_member *m);
/** To all that report to us on this level. */
void eh_lead_tell_all(struct eh_member *m, unsigned int level, struct eh_message *message);
/** Values have changed at this level (0: the node's own): passes them up through all levels led here. */
void eh_lead_own(struct eh_member *m, unsigned int level, const uint64_t *seen, size_t nseen);
/** One event for the group of this level; an arrival's outcome goes to `outcome`. As eh_group_step(). */
int eh_lead_step(struct eh_member *m, unsigned int level, const struct eh_event *event,
		 struct eh_update *outcome);
/** Takes a rule that is not ours, here and in the groups below. */
void eh_lead_adopt(struct eh_member *m, const struct eh_rule *rule);
void eh_lead_free(struct lead *lead);

#endif
