/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A group of lib/eh driven step by step, for cmocka tests; random.h gives the seed of its choices. */
#ifndef UNIT_STEPS_H
#define UNIT_STEPS_H

#include "eh/eh.h"
#include "random.h"

#define CHILDREN 32 /* most in these tests: n <= 5 */
#define UPDATES (CHILDREN + 8)

/* The updates of the last step. */
static struct eh_update ups[UPDATES];
static unsigned int nups;

static inline void emit(void *ctx, const struct eh_update *update)
{
	assert_ptr_equal(ctx, ups);
	assert_true(nups < UPDATES);
	ups[nups++] = *update;
}

static inline int step(struct eh_group *group, struct eh_event event, uint64_t now)
{
	nups = 0;
	return eh_group_step(group, &event, now, emit, ups);
}

static inline void must(struct eh_group *group, struct eh_event event, uint64_t now)
{
	assert_int_equal(step(group, event, now), 0);
}

/* The update of this type, or NULL. */
static inline const struct eh_update *update_of(enum eh_update_type type)
{
	for (unsigned int i = 0; i < nups; i++)
		if (ups[i].type == type)
			return &ups[i];
	return NULL;
}

static inline struct eh_group *group_new(unsigned int n, uint32_t grant_ms, bool least)
{
	struct eh_group *group = eh_group_new(&(struct eh_group_options){ .n = n,
									  .least = least,
									  .grant_ms = grant_ms,
									  .calm_ms = grant_ms,
									  .seed = random_64() });

	assert_non_null(group);
	return group;
}

static inline void join(struct eh_group *group, unsigned int child, uint64_t load,
			uint64_t threshold, uint64_t length)
{
	must(group,
	     (struct eh_event){ .type = EH_EV_JOIN,
				.child = child,
				.join.load = load,
				.join.threshold = threshold,
				.join.length = length,
				.join.capacity = 1000 },
	     0);
}

static inline uint64_t load_of(struct eh_group *group, unsigned int child)
{
	struct eh_child c;

	assert_int_equal(eh_group_child(group, child, &c), 0);
	return c.own.load;
}

static inline uint64_t threshold_of(struct eh_group *group, unsigned int child)
{
	struct eh_child c;

	assert_int_equal(eh_group_child(group, child, &c), 0);
	return c.own.threshold;
}

#endif
