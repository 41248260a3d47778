/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_WALK_H
#define _EHS_WALK_H

#include <linux/types.h>

struct ehs_node;
struct ehs_seen;

void ehs_walk(struct ehs_seen *seen);
bool ehs_walk_is_full(const struct ehs_node *node, u32 processors);
void ehs_walk_publish(const struct ehs_seen *seen);
bool ehs_walk_runnable(const struct ehs_node *node, u32 *runnable);

#endif /* _EHS_WALK_H */
