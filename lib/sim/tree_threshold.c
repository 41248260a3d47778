// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In a lazy tree each controller has heard of a change, with the threshold that a
 * leaf has by it. Its tree (the thresholds it believes its children have) is made
 * of that one, and changes at once when it hears of a newer one. A change begins at
 * the top and rides down, so a controller has never heard less than those below it.
 * Hence
 *   - a controller judges itself by the sum of what it believes of its children,
 *     whether they have heard or not, and theorems 2.1 to 2.3 hold in its view;
 *   - the top has heard of the newest one, and theorems 4.1 and 4.2 hold for it at
 *     once.
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

/* The controller v hears what the controller `from` has heard. False: that is no news. */
static bool threshold_hear(struct eh_tree *t, uint32_t v, uint32_t from)
{
	uint32_t to = v - t->leaves, i = from - t->leaves;

	if (t->epoch[to] >= t->epoch[i])
		return false;
	t->epoch[to] = t->epoch[i];
	t->told[v] = t->told[from];
	t->counts.rides++;
	return true;
}

void tree_threshold_pass(struct eh_tree *t, uint32_t v, uint32_t c, unsigned int level)
{
	if (!t->options.lazy)
		return;
	if (!level) {
		t->counts.rides += t->told[c] != t->told[v];
		t->told[c] = t->told[v];
		return;
	}
	threshold_hear(t, c, v);
}

void tree_threshold_carry(struct eh_tree *t, uint32_t v, uint32_t leaf)
{
	if (!t->options.lazy)
		return;
	for (unsigned int level = 1; level <= t->l; level++)
		if (!threshold_hear(t, tree_ancestor(t, leaf, level), v))
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
	uint32_t top = tree_top(t);
	uint64_t load = t->load[top];

	/* Two states: without one task more the top would be a sender at once. */
	if (t->two_state)
		load += EH_TASK;
	t->counts.changes++;
	t->threshold = threshold_share(t, load);
	if (t->options.lazy) {
		t->told[top] = t->threshold;
		t->epoch[top - t->leaves] = (uint32_t)t->counts.changes;
		return;
	}
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
	uint64_t load = t->load[tree_top(t)], slack = (uint64_t)t->leaves * EH_TASK;
	uint64_t threshold = t->threshold << t->n * t->l;

	if (threshold <= load || threshold - load <= slack)
		return false;
	/* Floors may leave nothing to lower. */
	if (t->options.floor && threshold_share(t, load) >= t->threshold)
		return false;
	tree_threshold_modify(t);
	return true;
}
