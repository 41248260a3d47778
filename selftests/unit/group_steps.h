/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A group of lib/eh driven step by step, for tests; random.h gives the seed of its choices. */
#ifndef UNIT_GROUP_STEPS_H
#define UNIT_GROUP_STEPS_H

#include "eh/eh.h"

#define CHILDREN 32 /* most in these tests: n <= 5 */
#define UPDATES (CHILDREN + 8)

/* Of the last step. */
extern struct eh_update group_updates[UPDATES];
extern unsigned int group_nupdates;

int group_step(struct eh_group *group, struct eh_event event, uint64_t now);
void group_must(struct eh_group *group, struct eh_event event, uint64_t now);

/* The update of this type, or NULL. */
const struct eh_update *group_update(enum eh_update_type type);
struct eh_group *group_new(unsigned int n, uint32_t grant_ms, bool least);
void group_join(struct eh_group *group, unsigned int child, uint64_t load, uint64_t threshold,
		uint64_t length);
uint64_t group_load(struct eh_group *group, unsigned int child);
uint64_t group_threshold(struct eh_group *group, unsigned int child);

#endif
