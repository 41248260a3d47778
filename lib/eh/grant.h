/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file grant.h
 * Grants of a group: the loads of placements that their executors have not
 * reported yet. For lib/eh only. Nothing here fails but eh_grant_reserve().
 */
#ifndef EH_GRANT_H
#define EH_GRANT_H

#include "group_inside.h"

/**
 * Makes a grant that counts nowhere yet, so that nothing can fail later. An
 * older grant of the same id is dropped. It expires grant_ms after `now`.
 * NULL: no memory, or too many are outstanding; nothing has changed.
 */
struct grant *eh_grant_reserve(struct eh_group *group, unsigned int asker, uint64_t id,
			       uint64_t size, uint64_t now);
/** From now on its size is load of this child. */
void eh_grant_to(struct eh_group *group, struct grant *grant, unsigned int child);
void eh_grant_drop(struct eh_group *group, struct grant *grant);
/** Drops the grant of `id` if it is to `child`. */
void eh_grant_settle(struct eh_group *group, uint64_t id, unsigned int child);
/** Drops those whose time is over. */
void eh_grant_expire(struct eh_group *group, uint64_t now);
/** Drops those to `child`; all of them if `child` is the size of the group. */
void eh_grant_forget(struct eh_group *group, unsigned int child);
/** Adds what was granted to the loads of candidates that were just reported. */
void eh_grant_recount(struct eh_group *group, unsigned int child);

#endif
