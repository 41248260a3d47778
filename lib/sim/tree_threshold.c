// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In a lazy tree each controller has a basis: the total load and capacity of the
 * last change that it has heard of. Its tree (the thresholds it believes its
 * children have) is shares of that basis, and changes at once when it hears of a
 * newer one. A change begins at the top and rides down, so a controller's basis is
 * never older than those of the controllers below it. Hence
 *   - a controller judges itself by the sum of what it believes of its children,
 *     whether they have heard or not, and theorems 2.1 to 2.3 hold in its view;
 *   - the top has the newest basis, and theorems 4.1 and 4.2 hold for it at once.
 */
#include "tree_threshold.h"

static uint64_t lowered(const struct eh_tree *t, uint64_t share, uint32_t lower)
{
	uint64_t threshold = share > lower ? share - lower : 0;

	return threshold > t->options.floor ? threshold : t->options.floor;
}

static uint64_t leaf_share(const struct eh_tree *t, uint32_t leaf, uint64_t load, uint64_t capacity)
{
	return lowered(t, eh_share(load, t->leaf_capacity[leaf], capacity),
		       tree_lower(t, t->leaf_length[leaf]));
}

static uint64_t uniform_share(const struct eh_tree *t, uint64_t load, uint64_t capacity)
{
	return lowered(t, eh_share(load, t->unit, capacity), t->lower);
}

/* The sum of the shares of the leaves below v. */
static uint64_t share_below(const struct eh_tree *t, uint32_t v, unsigned int level, uint64_t load,
			    uint64_t capacity)
{
	uint32_t first = (v - t->offset[level]) << t->n * level;
	uint64_t sum = 0;

	if (t->uniform)
		return tree_capacity(t, v) / t->unit * uniform_share(t, load, capacity);
	for (uint32_t i = first; i < first + (1u << t->n * level); i++)
		sum += leaf_share(t, i, load, capacity);
	return sum;
}

void tree_threshold_sums(struct eh_tree *t)
{
	for (unsigned int level = 1; level <= t->l; level++) {
		uint32_t end = level < t->l ? t->offset[level + 1] : t->nodes;

		for (uint32_t v = t->offset[level]; v < end; v++) {
			uint32_t first = tree_first(t, v, level);
			uint64_t sum = 0;

			for (uint32_t c = first; c < first + (1u << t->n); c++)
				sum += t->believed[c];
			t->threshold[v] = t->believed[v] = sum;
		}
	}
}

uint64_t tree_threshold_told(const struct eh_tree *t, uint32_t v, uint32_t leaf)
{
	uint32_t i = v - t->leaves;

	if (!t->options.lazy)
		return t->threshold[leaf];
	if (!t->basis_epoch[i])
		return t->options.threshold;
	return leaf_share(t, leaf, t->basis_load[i], t->basis_capacity[i]);
}

void tree_threshold_count(struct eh_tree *t, uint32_t leaf, bool add)
{
	uint64_t part = t->threshold[leaf];

	/* From the top down: in its parent's view a controller has the part that the parent gives it. */
	for (unsigned int level = t->l; level >= 1; level--) {
		uint32_t v = tree_ancestor(t, leaf, level), c = tree_ancestor(t, leaf, level - 1);

		if (t->options.lazy)
			part = tree_threshold_told(t, v, leaf);
		t->threshold[v] += add ? part : -part;
		if (t->options.lazy || c < t->leaves)
			t->believed[c] = level > 1 ? t->believed[c] + (add ? part : -part)
					 : add	   ? part
						   : 0;
	}
	/* The top's parent is itself. */
	t->believed[tree_top(t)] = t->threshold[tree_top(t)];
	t->threshold[leaf] = add ? part : 0;
}

/* v has a new basis: the thresholds it believes its children have become shares of it. */
static void rebase(struct eh_tree *t, uint32_t v, unsigned int level)
{
	uint32_t first = tree_first(t, v, level), i = v - t->leaves;

	for (uint32_t c = first; c < first + (1u << t->n); c++)
		t->believed[c] = tree_capacity(t, c)
					 ? share_below(t, c, level - 1, t->basis_load[i],
						       t->basis_capacity[i])
					 : 0;
}

/* The controller v takes the newer basis of the controller `from`. */
static bool take_basis(struct eh_tree *t, uint32_t v, unsigned int level, uint32_t from)
{
	uint32_t to = v - t->leaves, i = from - t->leaves;

	if (t->basis_epoch[to] >= t->basis_epoch[i])
		return false;
	t->basis_epoch[to] = t->basis_epoch[i];
	t->basis_load[to] = t->basis_load[i];
	t->basis_capacity[to] = t->basis_capacity[i];
	t->threshold[v] = share_below(t, v, level, t->basis_load[to], t->basis_capacity[to]);
	t->counts.rides++;
	rebase(t, v, level);
	return true;
}

void tree_threshold_pass(struct eh_tree *t, uint32_t v, uint32_t c, unsigned int level)
{
	if (!t->options.lazy)
		return;
	if (!level) {
		t->counts.rides += t->threshold[c] != t->believed[c];
		t->threshold[c] = t->believed[c];
		return;
	}
	take_basis(t, c, level, v);
}

void tree_threshold_carry(struct eh_tree *t, uint32_t v, uint32_t leaf)
{
	if (!t->options.lazy)
		return;
	for (unsigned int level = 1; level <= t->l; level++)
		if (!take_basis(t, tree_ancestor(t, leaf, level), level, v))
			break;
	tree_threshold_pass(t, tree_ancestor(t, leaf, 1), leaf, 0);
}

void tree_threshold_ride(struct eh_tree *t, unsigned int level, uint32_t leaf)
{
	if (!t->options.lazy)
		return;
	for (; level; level--)
		tree_threshold_pass(t, tree_ancestor(t, leaf, level),
				    tree_ancestor(t, leaf, level - 1), level - 1);
}

void tree_threshold_modify(struct eh_tree *t)
{
	uint32_t top = tree_top(t), i = top - t->leaves;
	uint64_t load = t->load[top], capacity = t->sum_capacity[i], unit;

	/* Two states: without one task more the top would be a sender at once. */
	if (t->two_state)
		load += EH_TASK;
	t->epoch++;
	t->counts.changes++;
	if (t->options.lazy) {
		t->basis_epoch[i] = t->epoch;
		t->basis_load[i] = load;
		t->basis_capacity[i] = capacity;
		t->threshold[top] = t->believed[top] = share_below(t, top, t->l, load, capacity);
		rebase(t, top, t->l);
		return;
	}
	unit = t->uniform ? uniform_share(t, load, capacity) : 0;
	for (uint32_t leaf = 0; leaf < t->leaves; leaf++) {
		if (!t->leaf_capacity[leaf])
			continue;
		t->threshold[leaf] = t->uniform ? unit : leaf_share(t, leaf, load, capacity);
	}
	tree_threshold_sums(t);
	/* An edge for each node but the top. */
	t->counts.threshold_messages += t->members + t->controllers - 1;
}

bool tree_threshold_raise(struct eh_tree *t)
{
	if (t->options.policy != EH_HINT || tree_state(t, tree_top(t)) != EH_SENDER)
		return false;
	tree_threshold_modify(t);
	return true;
}

bool tree_threshold_relax(struct eh_tree *t)
{
	uint32_t top = tree_top(t);
	uint64_t slack = (uint64_t)t->members * EH_TASK;

	/* A node of capacity w counts as w tasks, as in lib/eh/threshold.c. */
	if (slack < t->sum_capacity[top - t->leaves])
		slack = t->sum_capacity[top - t->leaves];
	if (t->threshold[top] <= t->load[top] || t->threshold[top] - t->load[top] <= slack)
		return false;
	/* Floors may leave nothing to lower. */
	if (t->options.floor && share_below(t, top, t->l, t->load[top],
					    t->sum_capacity[top - t->leaves]) >= t->threshold[top])
		return false;
	tree_threshold_modify(t);
	return true;
}
