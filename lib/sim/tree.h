/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file tree.h
 * All nodes and controllers of an EH(n,l) at once: the control information tree
 * (CIT) of paper 4 (section 3) and its task allocation (section 5), with several
 * policies, for the simulator. Pure: no input, output or clock. Loads, thresholds,
 * lengths and capacities are thousandths of a task; time is the driver's, in its
 * units, and only moves forward. What one controller does in an agent is eh.h;
 * rules that both share are in rule.h.
 *
 * All nodes have the capacity EH_TASK and the same length, as in the paper's
 * experiments; a group of an agent (eh.h) has children of all kinds.
 *
 * Of the paper's record Load and Th are arrays (tree_inside.h), Type and Alpha are
 * worked out, and No, Level, FC and NS index arithmetic: the children of a
 * controller lie side by side.
 */
#ifndef EH_TREE_H
#define EH_TREE_H

#include "eh/rule.h"
#include "eh/topology.h"

/** Largest threshold and length of a node. */
#define EH_TREE_VALUE_MAX UINT32_MAX
/** Largest load of a whole tree. */
#define EH_TREE_LOAD_MAX (1ull << 62)

enum eh_policy {
	EH_ETA, /**< threshold and length; thresholds follow the load (section 5) */
	EH_ETA1, /**< no length: a receiver below its threshold, else a sender */
	EH_ETA2, /**< no length, fixed thresholds: refuses when all ancestors are senders */
	/** Not in the paper (docs/hierarchy.md): ETA, but controllers also know the least loaded
	 *  node below them and are told, in the answers to their reports, of a less loaded one
	 *  elsewhere; the top changes thresholds as soon as it is a sender, not when it is asked;
	 *  and thresholds are rounded down where the length allows it. */
	EH_HINT,
};

struct eh_tree_options {
	struct eh_topology topology;
	enum eh_policy policy;
	uint64_t threshold; /**< T0 of each node, at most EH_TREE_VALUE_MAX */
	uint64_t length; /**< alpha of each node, likewise; ETA1 and ETA2 have none */
	uint64_t floor; /**< least threshold of a node after a change, likewise; the paper has 0 */
	bool least; /**< descend to the least loaded child of the best state, else to a random one */
	bool receiver_first; /**< a receiver ancestor before a nearer one that is ok */
	/** Only the top's tree changes at once; others learn a threshold from the next message
	 *  that comes down to them (future work of section 5). Else (broadcast) all are told. */
	bool lazy;
	/** Nodes that become receivers look for a sender, and leave it their name (likewise). */
	bool bidirectional;
	/** Time until controllers know of a load that they did not place themselves; 0: at once. */
	uint64_t lag;
	uint64_t seed; /**< of the choice among equals */
};

enum eh_tree_event_type {
	EH_TREE_ARRIVE, /**< TaskArrive: a task of `size` at this node */
	EH_TREE_FINISH, /**< TaskFinish: load of `size` that ran on this node ends */
	/** A task of `size` runs at this node, as others have decided; its controllers know. */
	EH_TREE_PLACE,
};

struct eh_tree_event {
	enum eh_tree_event_type type;
	uint32_t node; /**< 0..2^nl-1 */
	uint64_t size;
};

/** What a step did. */
struct eh_tree_update {
	uint32_t node; /**< where the task runs, if not refused */
	bool refused; /**< ETA2: all ancestors are senders */
	bool changed; /**< thresholds changed: a new epoch */
	unsigned int
		probes; /**< controllers asked upward because of this event; their mean is MPN */
};

/** Sums over all steps, all of them uint64_t. A message goes one way, over one edge of the tree. */
struct eh_tree_counts {
	uint64_t arrivals, finishes;
	uint64_t probes, receiver_probes; /**< all; of them, by receivers that look for senders */
	uint64_t transfers;
	uint64_t refused;
	/** Transfers that the executor declined because it was a sender; the tasks ran at home. */
	uint64_t missed;
	uint64_t changes; /**< of thresholds */
	uint64_t threshold_messages; /**< told by a message of their own (broadcast) */
	uint64_t rides; /**< learned a threshold from a message that came anyway (lazy) */
	uint64_t state_messages; /**< loads told upward */
	uint64_t
		forwards; /**< controllers that asks are sent down through; no probes of the paper */
	uint64_t hint_messages; /**< hints told downward (EH_HINT) */
	uint64_t offers, offers_used; /**< of receivers (bidirectional) */
};

struct eh_tree;

/** NULL: no memory, or a bad topology, threshold, length, floor or policy. */
struct eh_tree *eh_tree_new(const struct eh_tree_options *options);
void eh_tree_free(struct eh_tree *tree);

/** One event, and all that follows from it. `now` before an earlier one counts as that.
 *  0; -EINVAL: no such node, a value too large, more finished than ran; -ENOMEM (with lag only).
 *  After an error nothing has changed. */
int eh_tree_step(struct eh_tree *tree, const struct eh_tree_event *event, uint64_t now,
		 struct eh_tree_update *update);

/** The load that runs on a node, 0..2^nl-1; with lag its controllers may believe another. */
uint64_t eh_tree_load(const struct eh_tree *tree, uint32_t node);

/** Since the start; borrowed. */
const struct eh_tree_counts *eh_tree_counts(const struct eh_tree *tree);
/** Bytes of all memory of the tree. */
size_t eh_tree_bytes(const struct eh_tree *tree);

#endif
