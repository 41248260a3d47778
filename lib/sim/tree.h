/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file tree.h
 * All nodes and controllers of an EH(n,l) at once: the control information tree
 * of paper 4 (section 3) and its task allocation (section 5). Pure, like eh.h,
 * which is one controller as an agent plays it; rules shared by both are in
 * rule.h. Loads, thresholds, lengths and capacities are thousandths of a task;
 * time is the driver's, in its units, and only moves on.
 *
 * Of the paper's record No and Level are a struct eh_code, Load, Type, Th and
 * Alpha a struct eh_tree_node, and FC and NS index arithmetic: the children of a
 * controller lie side by side.
 */
#ifndef EH_TREE_H
#define EH_TREE_H

#include "eh/rule.h"
#include "eh/topology.h"

/** Largest threshold, length and capacity of a node. */
#define EH_TREE_VALUE_MAX UINT32_MAX
/** Largest load of a whole tree. */
#define EH_TREE_LOAD_MAX (1ull << 62)

enum eh_policy {
	EH_ETA, /**< threshold and length; thresholds follow the load */
	EH_ETA1, /**< no length: a receiver below its threshold, else a sender */
	EH_ETA2, /**< no length, fixed thresholds: refuses when all ancestors are senders */
	/** ETA whose controllers also know the least loaded node below them and are told, in
	 *  answer to their reports, of a less loaded one elsewhere; whose top changes thresholds
	 *  when it hears that it is a sender, not when it is asked; and whose thresholds are
	 *  rounded down where the length allows it: docs/hierarchy.md. */
	EH_HINT,
};

struct eh_tree_options {
	struct eh_topology topology;
	enum eh_policy policy;
	uint64_t threshold; /**< T0 of each node */
	uint64_t length; /**< alpha of each node; ETA1 and ETA2 have none */
	bool least; /**< descend to the least loaded of the best state, else random */
	bool receiver_first; /**< a receiver ancestor before a nearer one that is ok */
	/** Only the top's tree changes at once; others learn a threshold from the next message
	 *  that comes down to them. Else (broadcast) all are told, as in the paper. */
	bool lazy;
	/** Nodes that become receivers look for a sender, and leave it their name. */
	bool bidirectional;
	bool empty; /**< no members yet; else all, of capacity EH_TASK */
	/** Time until controllers know of a load that they have not placed themselves; 0: at once. */
	uint64_t lag;
	uint64_t seed; /**< of the choice among equals */
};

enum eh_tree_event_type {
	EH_TREE_ARRIVE, /**< size, at a member */
	EH_TREE_FINISH, /**< size, which ran on this member */
	/** A member: load, capacity (not 0), length and threshold; again: these changed. A lazy
	 *  tree gives it its controller's threshold instead. */
	EH_TREE_JOIN,
	EH_TREE_LEAVE, /**< with its load */
};

struct eh_tree_event {
	enum eh_tree_event_type type;
	uint32_t node; /**< 0..2^nl-1 */
	uint64_t size;
	uint64_t load, threshold, length, capacity;
};

/** What a step did. */
struct eh_tree_update {
	uint32_t node; /**< who runs the task, if not refused; home or another */
	bool refused; /**< ETA2: all ancestors are senders */
	bool changed; /**< thresholds did: a new epoch */
	unsigned int probes; /**< controllers asked upward, by all that this event set off (MPN) */
};

/** Sums over all steps. Messages are one way, over one edge of the tree. */
struct eh_tree_counts {
	uint64_t arrivals, finishes;
	uint64_t probes, receiver_probes; /**< all; those of receivers that look for senders */
	uint64_t transfers;
	uint64_t refused;
	uint64_t
		missed; /**< transfers that the executor declined: it was a sender. They ran at home */
	uint64_t changes; /**< of thresholds */
	uint64_t threshold_messages; /**< told by a message of their own (broadcast) */
	uint64_t rides; /**< learned a threshold from a message that came anyway (lazy) */
	uint64_t state_messages; /**< loads told upward */
	uint64_t forwards; /**< controllers that asks are sent down through; no probes of the paper */
	uint64_t hint_messages; /**< hints told downward (EH_HINT) */
	uint64_t offers, offers_used; /**< of receivers (bidirectional) */
};

struct eh_tree;

/** NULL: no memory, or a bad topology, threshold or length. */
struct eh_tree *eh_tree_new(const struct eh_tree_options *options);
void eh_tree_free(struct eh_tree *tree);

/** 0; -EINVAL: not a member, a value too large, more finished than ran; -ENOMEM (with lag only).
 *  After an error nothing has changed. */
int eh_tree_step(struct eh_tree *tree, const struct eh_tree_event *event, uint64_t now,
		 struct eh_tree_update *update);

struct eh_tree_node {
	bool present; /**< a member, or a controller with members below it */
	uint64_t load; /**< as its controller knows it: of a controller the sum of its children */
	uint64_t threshold; /**< in force at the node: of a controller the sum its own tree has */
	/** The threshold in its controller's tree: the same but in a lazy tree. The `threshold` of
	 *  a controller is the sum of the `believed` of its children, always. */
	uint64_t believed;
	uint64_t length, capacity;
	enum eh_state state; /**< of these */
};
/** -EINVAL: no such code. */
int eh_tree_node(const struct eh_tree *tree, struct eh_code code, struct eh_tree_node *out);

/** The load that runs on a node; with lag its controllers may believe another. */
uint64_t eh_tree_load(const struct eh_tree *tree, uint32_t node);

const struct eh_tree_counts *eh_tree_counts(const struct eh_tree *tree);
/** Number of thresholds changes so far. */
uint64_t eh_tree_epoch(const struct eh_tree *tree);
/** All memory of the tree. */
size_t eh_tree_bytes(const struct eh_tree *tree);

#endif
