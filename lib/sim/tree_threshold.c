// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In a lazy tree each controller has a basis: the total load of the last change
 * that it has heard of. Its tree (the thresholds it believes its
 * children have) is shares of that basis, and changes at once when it hears of a
 * newer one. A change begins at the top and rides down, so a controller's basis is
 * never older than those of the controllers below it. Hence
 *   - a controller judges itself by the sum of what it believes of its children,
 *     whether they have heard or not, and theorems 2.1 to 2.3 hold in its view;
 *   - the top has the newest basis, and theorems 4.1 and 4.2 hold for it at once.
 */
#include "tree_threshold.h"

/*
 * A leaf's share of this load. EH_HINT has one that is lower than the paper's, which is rounded up: with
 * a length of a task or more, theorem 4.1 (the top is not a sender after a change) holds for a threshold
 * that is rounded down too.
 */
static uint64_t threshold_share(const struct eh_tree *t, uint64_t load)
{
	uint64_t tasks = eh_share(load, EH_TASK, (uint64_t)t->leaves * EH_TASK);
	bool lower = t->options.policy == EH_HINT && t->length >= EH_TASK && tasks;

	tasks -= lower ? EH_TASK : 0;
	return tasks > t->options.floor ? tasks : t->options.floor;
}

void tree_threshold_set(struct eh_tree *t, uint64_t threshold)
{
	for (unsigned int level = 0; level <= t->l; level++) {
		uint32_t end = level < t->l ? t->offset[level + 1] : t->nodes;

		for (uint32_t v = t->offset[level]; v < end; v++)
			t->threshold[v] = t->believed[v] = threshold << t->n * level;
	}
}

uint64_t tree_threshold_told(const struct eh_tree *t, uint32_t v, uint32_t leaf)
{
	uint32_t i = v - t->leaves;

	if (!t->options.lazy)
		return t->threshold[leaf];
	if (!t->basis_epoch[i])
		return t->options.threshold;
	return threshold_share(t, t->basis_load[i]);
}

/* v has a new basis: its threshold, and those it believes its children have, become shares of it. */
static void threshold_rebase(struct eh_tree *t, uint32_t v, unsigned int level)
{
	uint32_t first = tree_first(t, v, level);
	uint64_t part = threshold_share(t, t->basis_load[v - t->leaves]);

	t->threshold[v] = part << t->n * level;
	for (uint32_t c = first; c < first + (1u << t->n); c++)
		t->believed[c] = part << t->n * (level - 1);
}

/* The controller v takes the newer basis of the controller `from`. */
static bool threshold_take_basis(struct eh_tree *t, uint32_t v, unsigned int level, uint32_t from)
{
	uint32_t to = v - t->leaves, i = from - t->leaves;

	if (t->basis_epoch[to] >= t->basis_epoch[i])
		return false;
	t->basis_epoch[to] = t->basis_epoch[i];
	t->basis_load[to] = t->basis_load[i];
	t->counts.rides++;
	threshold_rebase(t, v, level);
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
	threshold_take_basis(t, c, level, v);
}

void tree_threshold_carry(struct eh_tree *t, uint32_t v, uint32_t leaf)
{
	if (!t->options.lazy)
		return;
	for (unsigned int level = 1; level <= t->l; level++)
		if (!threshold_take_basis(t, tree_ancestor(t, leaf, level), level, v))
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
	uint64_t load = t->load[top];

	/* Two states: without one task more the top would be a sender at once. */
	if (t->two_state)
		load += EH_TASK;
	t->counts.changes++;
	if (t->options.lazy) {
		t->basis_epoch[i] = (uint32_t)t->counts.changes;
		t->basis_load[i] = load;
		threshold_rebase(t, top, t->l);
		t->believed[top] = t->threshold[top];
		return;
	}
	tree_threshold_set(t, threshold_share(t, load));
	/* An edge for each node but the top. */
	t->counts.threshold_messages += t->nodes - 1;
}

bool tree_threshold_raise(struct eh_tree *t)
{
	if (t->options.policy != EH_HINT || tree_state(t, tree_top(t), t->l) != EH_SENDER)
		return false;
	tree_threshold_modify(t);
	return true;
}

bool tree_threshold_relax(struct eh_tree *t)
{
	uint32_t top = tree_top(t);
	uint64_t slack = (uint64_t)t->leaves * EH_TASK;

	if (t->threshold[top] <= t->load[top] || t->threshold[top] - t->load[top] <= slack)
		return false;
	/* Floors may leave nothing to lower. */
	if (t->options.floor &&
	    threshold_share(t, t->load[top]) << t->n * t->l >= t->threshold[top])
		return false;
	tree_threshold_modify(t);
	return true;
}
