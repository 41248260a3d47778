// SPDX-License-Identifier: GPL-2.0-or-later
#include "load_idle.h"

#include <stdlib.h>

/* What is known of a controller's group. */
struct idle_group {
	uint16_t has[LOAD_TIERS]; /* children that have credits */
	int32_t moved; /* tasks since its last report */
};

/* Of a node, as its controller knows it; below 0 while news overtakes an answer. */
struct idle_leaf {
	int8_t credits[LOAD_TIERS];
};

struct load_idle {
	unsigned int n, l;
	uint32_t offset[EH_LEVELS_MAX + 1]; /* of a level in `groups` */
	size_t bytes;
	struct idle_leaf *leaves;
	struct idle_group groups[];
};

struct load_idle *load_idle_new(const struct eh_load_options *options)
{
	const struct eh_topology *t = &options->topology;
	uint32_t nodes = 1u << t->n * t->l, controllers = 0;
	struct load_idle shape = { .n = t->n, .l = t->l }, *idle;

	for (unsigned int level = 1; level <= shape.l; level++) {
		shape.offset[level] = controllers;
		controllers += 1u << shape.n * (shape.l - level);
	}
	shape.bytes = sizeof(*idle) + controllers * sizeof(idle->groups[0]) +
		      nodes * sizeof(idle->leaves[0]);
	idle = calloc(1, sizeof(*idle) + controllers * sizeof(idle->groups[0]));
	if (!idle)
		return NULL;
	*idle = shape;
	idle->leaves = calloc(nodes, sizeof(idle->leaves[0]));
	if (!idle->leaves) {
		free(idle);
		return NULL;
	}
	for (unsigned int tier = 0; tier < LOAD_TIERS; tier++) {
		for (uint32_t i = 0; i < nodes; i++)
			idle->leaves[i].credits[tier] = (int8_t)options->processors;
		for (uint32_t i = 0; i < controllers; i++)
			idle->groups[i].has[tier] = (uint16_t)(1u << t->n);
	}
	return idle;
}

void load_idle_free(struct load_idle *idle)
{
	if (!idle)
		return;
	free(idle->leaves);
	free(idle);
}

size_t load_idle_bytes(const struct load_idle *idle)
{
	return idle->bytes;
}

static struct idle_group *group_of(struct load_idle *idle, uint32_t node, unsigned int level)
{
	return &idle->groups[idle->offset[level] + (node >> idle->n * level)];
}

void load_idle_change(struct eh_load *load, uint32_t node, unsigned int tier, int32_t more)
{
	struct load_idle *idle = load->idle;
	int8_t *credits = &idle->leaves[node].credits[tier], before = *credits;
	bool some;

	*credits = (int8_t)(before + more);
	some = *credits > 0;
	if ((before > 0) == some)
		return;
	/* as far up as that makes a difference */
	for (unsigned int level = 1; level <= idle->l; level++) {
		struct idle_group *g = group_of(idle, node, level);

		g->has[tier] = some ? g->has[tier] + 1 : g->has[tier] - 1;
		if (g->has[tier] != some)
			break;
		if (level < idle->l)
			load_count(load, EH_LOAD_CREDIT, level + 1, 1);
	}
}

void load_idle_moved(struct eh_load *load, uint32_t node, int32_t more)
{
	struct load_idle *idle = load->idle;

	for (unsigned int level = 1; level < idle->l; level++) {
		struct idle_group *g = group_of(idle, node, level);

		g->moved += more;
		if ((int64_t)g->moved * g->moved < 1ll << idle->n * level)
			continue;
		g->moved = 0;
		load_count(load, EH_LOAD_STATE, level + 1, 1);
	}
}

static bool has(const struct load_idle *idle, uint32_t index, unsigned int level, unsigned int tier)
{
	return level ? idle->groups[idle->offset[level] + index].has[tier] > 0
		     : idle->leaves[index].credits[tier] > 0;
}

/* One of the nodes below it that have some, at random. */
static uint32_t descend(struct eh_load *load, uint32_t index, unsigned int level, unsigned int tier)
{
	const struct load_idle *idle = load->idle;
	uint32_t mask = (1u << idle->n) - 1;

	for (; level; level--) {
		uint32_t from = eh_random_below(&load->random, mask + 1);

		index <<= idle->n;
		while (!has(idle, index | (from & mask), level - 1, tier))
			from++;
		index |= from & mask;
		if (level > 1)
			load_count(load, EH_LOAD_FORWARD, level, 1);
	}
	return index;
}

uint32_t load_idle_take(struct eh_load *load, uint32_t home, unsigned int tier, unsigned int *asked)
{
	const struct load_idle *idle = load->idle;

	for (unsigned int level = 1; level <= idle->l; level++) {
		uint32_t group = home >> idle->n * level, node;

		if (level > *asked) {
			load_count(load, EH_LOAD_ASK, level, 1);
			*asked = level;
		}
		if (!has(idle, group, level, tier))
			continue;
		/* those above, which had been asked, send it down again */
		for (unsigned int above = level + 1; above <= *asked; above++)
			load_count(load, EH_LOAD_FORWARD, above, 1);
		node = descend(load, group, level, tier);
		load_idle_change(load, node, tier, -1);
		return node;
	}
	return LOAD_NONE;
}
