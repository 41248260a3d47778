// SPDX-License-Identifier: GPL-2.0-or-later
#include "group_steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "random.h"

struct eh_update group_updates[UPDATES];
unsigned int group_nupdates;

static void emit(void *ctx, const struct eh_update *update)
{
	assert_ptr_equal(ctx, group_updates);
	assert_true(group_nupdates < UPDATES);
	group_updates[group_nupdates++] = *update;
}

int group_step(struct eh_group *group, struct eh_event event, uint64_t now)
{
	group_nupdates = 0;
	return eh_group_step(group, &event, now, emit, group_updates);
}

void group_must(struct eh_group *group, struct eh_event event, uint64_t now)
{
	assert_int_equal(group_step(group, event, now), 0);
}

const struct eh_update *group_update(enum eh_update_type type)
{
	for (unsigned int i = 0; i < group_nupdates; i++)
		if (group_updates[i].type == type)
			return &group_updates[i];
	return NULL;
}

struct eh_group *group_new(unsigned int n, uint32_t grant_ms, bool least)
{
	struct eh_group *group = eh_group_new(&(struct eh_group_options){ .n = n,
									  .least = least,
									  .grant_ms = grant_ms,
									  .calm_ms = grant_ms,
									  .seed = random_64() });

	assert_non_null(group);
	return group;
}

void group_join(struct eh_group *group, unsigned int child, uint64_t load, uint64_t threshold,
		uint64_t length)
{
	group_must(group,
		   (struct eh_event){ .type = EH_EV_JOIN,
				      .child = child,
				      .join.load = load,
				      .join.threshold = threshold,
				      .join.length = length,
				      .join.capacity = 1000 },
		   0);
}

uint64_t group_load(struct eh_group *group, unsigned int child)
{
	struct eh_child c;

	assert_int_equal(eh_group_child(group, child, &c), 0);
	return c.own.load;
}

uint64_t group_threshold(struct eh_group *group, unsigned int child)
{
	struct eh_child c;

	assert_int_equal(eh_group_child(group, child, &c), 0);
	return c.own.threshold;
}
