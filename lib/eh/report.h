/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file report.h  What a member tells its parent. For lib/eh only. */
#ifndef EH_REPORT_H
#define EH_REPORT_H

#include "role.h"

/** The values of this node (level 0) or of the group it leads on this level, and its best nodes if
 *  `best` is not NULL. Returns the number of these. */
size_t eh_report_level(const struct eh_member *m, unsigned int level, struct eh_report *out,
		       struct eh_candidate best[EH_BEST_MAX]);
/** Whether that number of nodes can have these values. */
bool eh_report_is_possible(const struct eh_report *r);
void eh_report_send(struct eh_member *m, uint32_t to);
/** Sends one to the parent if enough has changed, or `always`. */
void eh_report_due(struct eh_member *m, bool always);
/** The parent has answered the last one. */
void eh_report_answered(struct eh_member *m);

#endif
