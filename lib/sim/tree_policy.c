// SPDX-License-Identifier: GPL-2.0-or-later
#include "tree_policy.h"

#include "tree_hint.h"
#include "tree_threshold.h"
#include "tree_up.h"

static unsigned int policy_level_of(const struct eh_tree *t, uint32_t v)
{
	unsigned int level = 0;

	while (level < t->l && v >= t->offset[level + 1])
		level++;
	return level;
}

/* State of c, which is on this level, as its parent v sees it. */
static enum eh_state policy_seen(const struct eh_tree *t, uint32_t v, uint32_t c,
				 unsigned int level)
{
	return tree_judge(t, t->load[c], tree_told(t, v, level), tree_length(t, level));
}

/* The child to send a task to. A controller that is not a sender always has one, by theorems 2.1 and
 * 2.3. */
static uint32_t policy_best_child(struct eh_tree *t, uint32_t v, unsigned int level, uint64_t size)
{
	uint32_t first = tree_first(t, v, level);
	struct eh_choice choice;

	eh_choice_begin(&choice);
	for (uint32_t c = first; c < first + (1u << t->n); c++)
		eh_choice_offer(&choice, c, policy_seen(t, v, c, level - 1), t->load[c] + size,
				tree_told(t, v, level - 1), t->options.least, &t->random);
	return choice.child;
}

/* A random child that is a sender. A sender has one (theorem 2.2); a controller that is ok may. */
static uint32_t policy_sender_child(struct eh_tree *t, uint32_t v, unsigned int level)
{
	uint32_t first = tree_first(t, v, level);
	struct eh_choice choice;

	eh_choice_begin(&choice);
	for (uint32_t c = first; c < first + (1u << t->n); c++)
		if (policy_seen(t, v, c, level - 1) == EH_SENDER)
			eh_choice_offer(&choice, c, EH_SENDER, 0, 0, false, &t->random);
	return choice.child;
}

/* From the controller v, which is not a sender, down to a member that is not a sender. */
static uint32_t policy_descend(struct eh_tree *t, uint32_t v, uint64_t size)
{
	for (unsigned int level = policy_level_of(t, v); level; level--) {
		uint32_t c = policy_best_child(t, v, level, size);

		t->counts.forwards += level > 1;
		tree_threshold_pass(t, v, c, level - 1);
		v = c;
	}
	return v;
}

/* In a lazy tree the answer tells home its new threshold; true: with it home is not a sender. */
static bool policy_answered(struct eh_tree *t, unsigned int level, uint32_t home)
{
	tree_threshold_ride(t, level, home);
	return t->options.lazy && tree_state(t, home, 0) != EH_SENDER;
}

/* WhoDoTask: asks the ancestors of home upward. The member to run the task, or EH_NO_CHILD: all are
 * senders.
 * `hinted`: the level of the controller that named it by a hint. */
static uint32_t policy_search(struct eh_tree *t, uint32_t home, uint64_t size, unsigned int *probes,
			      unsigned int *hinted)
{
	unsigned int found = 0;

	for (unsigned int level = 1; level <= t->l; level++) {
		enum eh_state state = tree_state(t, tree_ancestor(t, home, level), level);

		++*probes;
		if (t->least) {
			uint32_t to = tree_hint_node(t, home, level);

			if (to != EH_NO_CHILD && policy_answered(t, level, home))
				return home;
			if (to != EH_NO_CHILD) {
				*hinted = level;
				return to;
			}
			/* The least loaded for its capacity may be a sender where shares are
			 * rounded up. Then the next ancestor is asked; the top has none. */
			if (level < t->l)
				continue;
		}
		if (state == EH_SENDER || (state == EH_OK && found))
			continue;
		found = level;
		if (state == EH_RECEIVER || !t->options.receiver_first)
			break;
	}
	if (!found)
		return EH_NO_CHILD;
	if (policy_answered(t, found, home))
		return home;
	return policy_descend(t, tree_ancestor(t, home, found), size);
}

/* The receiver that left its name here, if it still is not a sender. */
static uint32_t policy_take_offer(struct eh_tree *t, uint32_t home)
{
	uint32_t to;

	if (!t->offer || t->offer[home] == EH_NO_CHILD)
		return EH_NO_CHILD;
	to = t->offer[home];
	t->offer[home] = EH_NO_CHILD;
	if (tree_state(t, to, 0) == EH_SENDER)
		return EH_NO_CHILD;
	t->counts.offers_used++;
	return to;
}

/*
 * The paper's recursion in TaskArrive. After a change the top is not a sender
 * (theorem 4.1), so the second search finds a member, unless loads are old
 * (lag) and the least loaded for its capacity is a sender where shares are
 * rounded up. Then the task stays: a second change would be the same as the
 * first.
 */
static uint32_t policy_who_does(struct eh_tree *t, uint32_t home, uint64_t size,
				struct eh_tree_update *up, unsigned int *hinted)
{
	for (;;) {
		uint32_t to;

		if (tree_state(t, home, 0) != EH_SENDER)
			return home;
		to = policy_take_offer(t, home);
		if (to == EH_NO_CHILD)
			to = policy_search(t, home, size, &up->probes, hinted);
		if (to != EH_NO_CHILD || t->options.policy == EH_ETA2)
			return to;
		if (up->changed)
			return home;
		tree_threshold_modify(t);
		tree_threshold_ride(t, t->l, home);
		up->changed = true;
	}
}

static void policy_count_load(struct eh_tree *t, uint32_t leaf, int64_t delta, bool known)
{
	t->total += delta;
	if (t->own != t->load)
		t->own[leaf] += delta;
	if (t->options.lag && !known) /* eh_tree_step() has made room */
		ring_add(&t->late, &(struct tree_late){ t->now + t->options.lag, delta, leaf });
	else
		tree_up_modify(t, leaf, delta);
}

void tree_policy_arrive(struct eh_tree *t, const struct eh_tree_event *event,
			struct eh_tree_update *up)
{
	uint32_t home = event->node, to, named;
	unsigned int hinted = 0;
	bool known;

	t->counts.arrivals++;
	to = named = policy_who_does(t, home, event->size, up, &hinted);
	t->counts.probes += up->probes;
	if (to == EH_NO_CHILD) {
		t->counts.refused++;
		up->refused = true;
		return;
	}
	if (hinted && named != home)
		tree_threshold_carry(t, tree_ancestor(t, home, hinted), named);
	/* The executor has the last word. */
	if (to != home && tree_state(t, to, 0) == EH_SENDER) {
		t->counts.missed++;
		to = home;
	}
	t->counts.transfers += to != home;
	/* If a controller elsewhere placed it, the node's ancestors learn of it by its report. */
	known = to != home &&
		(!hinted || tree_ancestor(t, to, hinted) == tree_ancestor(t, home, hinted));
	policy_count_load(t, to, (int64_t)event->size, known);
	if (hinted && named != home)
		tree_hint_used(t, home, hinted, named, event->size);
	up->node = to;
}

void tree_policy_place(struct eh_tree *t, const struct eh_tree_event *event)
{
	t->counts.arrivals++;
	policy_count_load(t, event->node, (int64_t)event->size, true);
}

/*
 * A node that has become a receiver looks for a sender, and leaves its name
 * there. It asks upward until an ancestor is a receiver itself: beyond it nobody
 * needs this node more than those below it do.
 */
static void policy_leave_offer(struct eh_tree *t, uint32_t leaf, struct eh_tree_update *up)
{
	for (unsigned int level = 1; level <= t->l; level++) {
		uint32_t v = tree_ancestor(t, leaf, level), c;

		up->probes++;
		if (tree_state(t, v, level) == EH_RECEIVER)
			return;
		if (policy_sender_child(t, v, level) == EH_NO_CHILD)
			continue;
		tree_threshold_ride(t, level, leaf);
		for (; level; level--) {
			c = policy_sender_child(t, v, level);
			t->counts.forwards += level > 1;
			tree_threshold_pass(t, v, c, level - 1);
			v = c;
		}
		t->offer[v] = leaf;
		t->counts.offers++;
		return;
	}
}

void tree_policy_finish(struct eh_tree *t, const struct eh_tree_event *event,
			struct eh_tree_update *up)
{
	uint32_t leaf = event->node;
	enum eh_state before = tree_state(t, leaf, 0);

	t->counts.finishes++;
	policy_count_load(t, leaf, -(int64_t)event->size, false);
	if (t->options.policy != EH_ETA2)
		up->changed = tree_threshold_relax(t);
	if (t->offer && before != EH_RECEIVER && tree_state(t, leaf, 0) == EH_RECEIVER)
		policy_leave_offer(t, leaf, up);
	t->counts.probes += up->probes;
	t->counts.receiver_probes += up->probes;
}
