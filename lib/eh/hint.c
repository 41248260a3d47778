// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hints: each controller knows the least loaded member below it, as its children
 * report it with their loads; the answer to a report tells a child of a
 * controller elsewhere that has a less loaded one. So the first controller that
 * is asked can send a task across its cube to where the whole tree has most room,
 * and need not ask those above. A hint is as old as the last report of the group;
 * the controller it names looks for itself, and may have nothing to give.
 */
#include "tree_inside.h"

/* Load for the capacity; the higher the later it is chosen. */
static uint64_t key_of(const struct eh_tree *t, uint32_t v)
{
	uint32_t capacity;

	if (v >= t->leaves)
		return t->least[v - t->leaves];
	capacity = t->leaf_capacity[v];
	if (!capacity)
		return UINT64_MAX;
	if (capacity == EH_TASK)
		return t->load[v];
	return (unsigned __int128)t->load[v] * EH_TASK / capacity;
}

static uint64_t least_below(const struct eh_tree *t, uint32_t v, unsigned int level)
{
	uint32_t first = tree_first(t, v, level);
	uint64_t least = UINT64_MAX;

	for (uint32_t c = first; c < first + (1u << t->n); c++) {
		uint64_t key = key_of(t, c);

		least = key < least ? key : least;
	}
	return least;
}

void tree_hint_least(struct eh_tree *t, uint32_t leaf)
{
	for (unsigned int level = 1; level <= t->l; level++) {
		uint32_t v = tree_ancestor(t, leaf, level);
		uint64_t least = least_below(t, v, level);

		if (least == t->least[v - t->leaves])
			return;
		t->least[v - t->leaves] = least;
	}
}

uint32_t tree_hint_child(struct eh_tree *t, uint32_t v, unsigned int level)
{
	uint32_t first = tree_first(t, v, level);
	struct eh_choice choice;

	eh_choice_begin(&choice);
	for (uint32_t c = first; c < first + (1u << t->n); c++)
		if (tree_capacity(t, c))
			eh_choice_offer(&choice, c, EH_OK, key_of(t, c), 0, true, &t->random);
	return choice.child;
}

/* v answers its child c. */
static void answer(struct eh_tree *t, uint32_t v, uint32_t c, unsigned int level, bool full)
{
	uint32_t from = v - t->leaves, i = c - t->leaves, to = t->hint_to[i];
	uint64_t key = t->least[from];

	if (t->hint_key[from] < key) {
		key = t->hint_key[from];
		to = t->hint_to[from];
	} else if (to < t->leaves || tree_first(t, v, level) != (to & ~((1u << t->n) - 1)) ||
		   t->least[to - t->leaves] != key) {
		to = tree_hint_child(t, v, level);
	}
	if (t->hint_key[i] == key && t->hint_to[i] == to && t->hint_full[i] == full)
		return;
	t->hint_key[i] = key;
	t->hint_to[i] = to;
	t->hint_full[i] = full;
	t->counts.hint_messages++;
	tree_threshold_pass(t, v, c, level - 1);
}

void tree_hint_answer(struct eh_tree *t, uint32_t leaf)
{
	bool full = tree_state(t, tree_top(t)) == EH_SENDER;

	for (unsigned int level = t->l; level > 1; level--)
		answer(t, tree_ancestor(t, leaf, level), tree_ancestor(t, leaf, level - 1), level,
		       full);
}

void tree_hint_all(struct eh_tree *t)
{
	bool full = tree_state(t, tree_top(t)) == EH_SENDER;
	uint64_t messages = t->counts.hint_messages;

	for (unsigned int level = 1; level <= t->l; level++)
		for (uint32_t i = 0; i < 1u << t->n * (t->l - level); i++) {
			uint32_t v = t->offset[level] + i;

			t->least[v - t->leaves] = least_below(t, v, level);
		}
	t->hint_key[tree_top(t) - t->leaves] = UINT64_MAX;
	for (unsigned int level = t->l; level > 1; level--)
		for (uint32_t i = 0; i < 1u << t->n * (t->l - level + 1); i++) {
			uint32_t c = t->offset[level - 1] + i;

			answer(t, t->offset[level] + (i >> t->n), c, level, full);
		}
	/* It rides with the threshold. */
	t->counts.hint_messages = messages;
}

uint32_t tree_hint_from(const struct eh_tree *t, uint32_t leaf, unsigned int level)
{
	uint32_t v = tree_ancestor(t, leaf, level), i = v - t->leaves;

	if (level == t->l)
		return tree_state(t, v) == EH_SENDER ? EH_NO_CHILD : v;
	if (t->hint_full[i])
		return EH_NO_CHILD;
	return t->hint_key[i] < t->least[i] ? t->hint_to[i] : v;
}
