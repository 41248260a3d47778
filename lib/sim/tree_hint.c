// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each controller knows the least loaded leaf below it, because its children
 * report it with their loads; the answer to a report names one elsewhere. So the
 * first controller that is asked can name the node where the whole tree has most
 * room, and no other is asked. A hint is as old as the last report of the group:
 * the node it names may have got work since, and may decline.
 */
#include "tree_hint.h"

#include "tree_threshold.h"

/* A key is the load: the lowest is chosen first. Above four million tasks all keys are the same. */
#define KEY_NONE UINT32_MAX

static inline uint32_t hint_key_for(uint64_t load)
{
	return load < KEY_NONE ? (uint32_t)load : KEY_NONE - 1;
}

static inline uint32_t hint_key_of(const struct eh_tree *t, uint32_t v)
{
	return v < t->leaves ? hint_key_for(t->load[v]) : t->least[v - t->leaves];
}

static inline uint32_t hint_node_of(const struct eh_tree *t, uint32_t v)
{
	return v < t->leaves ? v : t->least_node[v - t->leaves];
}

/* Lowest key below v, except below its child `but`. */
static uint32_t hint_least_below(const struct eh_tree *t, uint32_t v, unsigned int level,
				 uint32_t but)
{
	uint32_t first = tree_first(t, v, level);
	uint32_t least = KEY_NONE;

	for (uint32_t c = first; c < first + (1u << t->n); c++) {
		uint32_t key = level > 1 ? t->least[c - t->leaves] : hint_key_of(t, c);

		key = c == but ? KEY_NONE : key;
		least = key < least ? key : least;
	}
	return least;
}

/* The leaf that has it, at random among those that the children name. */
static uint32_t hint_pick_below(struct eh_tree *t, uint32_t v, unsigned int level, uint32_t but,
				uint32_t key)
{
	uint32_t first = tree_first(t, v, level), equals = 0, child = first;

	for (uint32_t c = first; c < first + (1u << t->n); c++)
		if (c != but && (level > 1 ? t->least[c - t->leaves] : hint_key_of(t, c)) == key &&
		    !eh_random_below(&t->random, ++equals))
			child = c;
	return hint_node_of(t, child);
}

/* Whether v knows that this leaf below it still has this key. */
static bool hint_is_still(const struct eh_tree *t, uint32_t v, unsigned int level, uint32_t node,
			  uint32_t key)
{
	uint32_t c;

	if (tree_ancestor(t, node, level) != v)
		return false;
	c = tree_ancestor(t, node, level - 1);
	return hint_node_of(t, c) == node && hint_key_of(t, c) == key;
}

void tree_hint_least(struct eh_tree *t, uint32_t leaf)
{
	for (unsigned int level = 1; level <= t->l; level++) {
		uint32_t v = tree_ancestor(t, leaf, level), i = v - t->leaves, node;
		uint32_t c = tree_ancestor(t, leaf, level - 1);
		uint32_t key = hint_key_of(t, c);

		if (key < t->least[i]) {
			node = hint_node_of(t, c);
		} else if (hint_is_still(t, v, level, t->least_node[i], t->least[i])) {
			return;
		} else {
			key = hint_least_below(t, v, level, EH_NO_CHILD);
			node = hint_pick_below(t, v, level, EH_NO_CHILD, key);
		}
		t->least[i] = key;
		t->least_node[i] = node;
	}
}

/* v answers its child c: the least loaded leaf that is not below c. */
static void hint_answer(struct eh_tree *t, uint32_t v, uint32_t c, unsigned int level)
{
	uint32_t from = v - t->leaves, i = c - t->leaves, to = t->hint_to[i];
	uint32_t key = t->least[from], least = t->least_node[from];

	/* Another one is needed only if the least loaded of all is below c itself. */
	if (tree_ancestor(t, least, level - 1) == c)
		key = hint_least_below(t, v, level, c);
	if (t->hint_key[from] < key) {
		key = t->hint_key[from];
		to = t->hint_to[from];
	} else if (!hint_is_still(t, v, level, to, key)) {
		to = hint_pick_below(t, v, level, c, key);
	}
	if (t->hint_key[i] == key && t->hint_to[i] == to)
		return;
	t->hint_key[i] = key;
	t->hint_to[i] = to;
	t->counts.hint_messages++;
	tree_threshold_pass(t, v, c, level - 1);
}

void tree_hint_answer(struct eh_tree *t, uint32_t leaf)
{
	for (unsigned int level = t->l; level > 1; level--)
		hint_answer(t, tree_ancestor(t, leaf, level), tree_ancestor(t, leaf, level - 1),
			    level);
}

void tree_hint_all(struct eh_tree *t)
{
	uint64_t messages = t->counts.hint_messages;

	for (unsigned int level = 1; level <= t->l; level++)
		for (uint32_t i = 0; i < 1u << t->n * (t->l - level); i++) {
			uint32_t v = t->offset[level] + i, at = v - t->leaves;

			t->least[at] = hint_least_below(t, v, level, EH_NO_CHILD);
			t->least_node[at] = hint_pick_below(t, v, level, EH_NO_CHILD, t->least[at]);
		}
	t->hint_key[tree_top(t) - t->leaves] = KEY_NONE;
	for (unsigned int level = t->l; level > 1; level--)
		for (uint32_t i = 0; i < 1u << t->n * (t->l - level + 1); i++)
			hint_answer(t, t->offset[level] + (i >> t->n), t->offset[level - 1] + i,
				    level);
	/* It rides with the threshold. */
	t->counts.hint_messages = messages;
}

uint32_t tree_hint_node(const struct eh_tree *t, uint32_t home, unsigned int level)
{
	uint32_t v = tree_ancestor(t, home, level), i = v - t->leaves, to = t->least_node[i];
	uint32_t key = t->least[i];

	if (level < t->l && t->hint_key[i] < key) {
		key = t->hint_key[i];
		to = t->hint_to[i];
	}
	if (tree_judge(t, key, tree_told(t, v, 0), t->length) == EH_SENDER)
		return EH_NO_CHILD;
	return to;
}

void tree_hint_used(struct eh_tree *t, uint32_t home, unsigned int level, uint32_t to,
		    uint64_t size)
{
	uint32_t i = tree_ancestor(t, home, level) - t->leaves;

	if (tree_ancestor(t, home, level) == tree_ancestor(t, to, level))
		return;
	if (t->options.lag) {
		uint32_t key = hint_key_for(size);

		t->hint_key[i] = key < KEY_NONE - t->hint_key[i] ? t->hint_key[i] + key : KEY_NONE;
		return;
	}
	/* It tells its parent, and is told of another. */
	t->counts.state_messages += t->l - level;
	tree_hint_answer(t, home);
}
