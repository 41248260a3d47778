/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file refine.h  Local search from tasks at the border of their part. */
#ifndef PLAN_ASSIGN_REFINE_H
#define PLAN_ASSIGN_REFINE_H

#include "parts.h"

/**
 * Refines with less and less room until the largest f stays. `at` becomes the best assignment that
 * was found.
 * @param rounds at most; each lowers the room once
 * @param patience moves without a lower potential after which one search ends
 * Returns 0 or -ENOMEM.
 */
int assign_refine(struct assign_parts *parts, uint32_t rounds, uint32_t patience, uint64_t *random,
		  struct plan_watch *watch);

#endif
