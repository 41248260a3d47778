// SPDX-License-Identifier: GPL-2.0-or-later
#include "tree_up.h"

#include "tree_hint.h"

void tree_up_modify(struct eh_tree *t, uint32_t leaf, int64_t delta)
{
	for (unsigned int level = 0; level <= t->l; level++)
		t->load[tree_ancestor(t, leaf, level)] += delta;
	t->counts.state_messages += t->l;
	if (t->least) {
		tree_hint_least(t, leaf);
		tree_hint_answer(t, leaf);
	}
}
