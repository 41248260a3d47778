/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_LOAD_H
#define _EHS_LOAD_H

#include <linux/jiffies.h>

#include "node.h"

/* A node is sampled for this long after its load was last read. */
#define EHS_LOAD_READ_JIFFIES (2 * HZ)

u32 ehs_load_get(const struct ehs_node *node);
u32 ehs_load_boost(struct ehs_node *node);
void ehs_load_unboost(struct ehs_node *node, u32 boosted_at, u32 part);
void ehs_load_wake(struct ehs_node *node);
void ehs_load_leave(struct ehs_node *node);

void ehs_load_init(void);
void ehs_load_exit(void);

#endif /* _EHS_LOAD_H */
