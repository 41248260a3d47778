/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file eh.h
 * The decision core of the extended hypercube EH(n,l) (paper 4): what a
 * controller knows of its children and what it decides. Pure: no I/O, clock or
 * threads; the agent, the simulator and the tests run the same code. Times are
 * milliseconds of the driver's clock. Loads, thresholds, lengths, floors,
 * capacities and sizes are thousandths of a mean work load (EH_TASK is one).
 *
 * A struct eh_group is one controller (the paper's NC) with up to 2^n children,
 * which are nodes (level 1) or controllers of the level below. A child is only
 * load, threshold, length and capacity, so all levels share this code. The
 * rules themselves (state, choice, share) are in rule.h.
 */
#ifndef EH_H
#define EH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "rule.h"
#include "topology.h"

/** Largest load, threshold, length, floor, capacity or size: sums of 2^10 children fit 63 bits. */
#define EH_VALUE_MAX (1ull << 52)
/** The same of one node: it has at most 2^22 tasks (PID_MAX_LIMIT). k nodes have k times as much. */
#define EH_NODE_MAX (1ull << 32)
/** Largest load of one task: the largest weight (uapi/ehsched.yaml). */
#define EH_SIZE_MAX (1000ull * EH_TASK)
/** After it comes epoch 1: there is none that the top cannot follow with another. */
#define EH_EPOCH_MAX ((1ull << 53) - 1)
/** Placements outstanding in one group; at this many the next ARRIVE is -ENOMEM. */
#define EH_GRANTS_MAX 65536
/** Of these, for tasks of one child. */
#define EH_GRANTS_CHILD (EH_GRANTS_MAX / 4)
/** Most nodes that a controller names to the level above as places for tasks. */
#define EH_BEST_MAX 8

struct eh_group;

struct eh_group_options {
	unsigned int n; /**< up to 2^n children, n <= 10 */
	bool groups; /**< the children are controllers, not nodes */
	bool below; /**< there is a level above: it moves the thresholds, and is asked
					 *   when this group is a sender */
	bool least; /**< descend to the least loaded of the best state, else random */
	uint32_t grant_ms; /**< a placement counts until a report has it, or for this long */
	uint32_t calm_ms; /**< thresholds are lowered when the paper's rule on finish has
					 *   held for this long; 0: at once, as in the paper */
	uint64_t seed; /**< of the tie breaks */
};

/** A node that can take a task, as its controller names it to the level above. */
struct eh_candidate {
	uint32_t node; /**< number of the node in level 0 */
	uint64_t load, threshold, length;
	bool dwell; /**< no receiver yet: see struct eh_report */
};

/** The rule of the top in this epoch: a child of capacity w_i has T_i = ceil(load*w_i/capacity). */
struct eh_rule {
	uint64_t epoch; /**< 0: none yet, thresholds are the nodes' own */
	uint64_t load, capacity;
};

/** A node's own values, or the sums of a group. Loads are as measured, whatever the state. */
struct eh_report {
	uint64_t load, threshold, length, floor, capacity;
	uint32_t nodes;
	bool draining; /**< takes no new tasks */
	bool dwell; /**< not below T-A for long enough: ok, not yet a receiver */
};

/** The state of a node or group that reports this. */
static inline enum eh_state eh_report_state(const struct eh_report *r)
{
	return eh_state_dwell(r->load, r->threshold, r->length, r->dwell);
}

enum eh_event_type {
	EH_EV_JOIN, /**< `join`: child is there; again: its values changed. They are up to EH_VALUE_MAX,
			 *   capacity not 0; 0 nodes count as 1, and `draining` is ignored */
	EH_EV_LEAVE, /**< child is gone; its grants are forgotten */
	EH_EV_DRAIN, /**< `drain`: child takes no new tasks, or takes them again */
	EH_EV_REPORT, /**< `report`: child's load, and what is in it */
	EH_EV_ARRIVE, /**< `arrive`: a task on child asks for a place (TaskArrive of paper 4) */
	EH_EV_FAILED, /**< `failed`: a grant to child was not used */
	EH_EV_TICK, /**< time passes. Grants expire and the finish rule is checked here and with all
			 *   events but ARRIVE */
	EH_EV_RULE, /**< `rule`: the top's rule; all thresholds change */
};

struct eh_event_drain {
	bool draining;
};

struct eh_event_report {
	uint64_t load;
	bool dwell;
	const uint64_t *seen; /**< ids of the grants that are in the load */
	size_t nseen;
	const struct eh_candidate *best; /**< its best nodes, where children are groups */
	size_t nbest; /**< at most EH_BEST_MAX */
};

struct eh_event_arrive {
	uint64_t id; /**< of the placement, chosen by the driver */
	uint64_t size; /**< load of the task */
	const uint64_t *tried; /**< bitmap of children not to choose (they refused), or NULL */
	const uint32_t *tried_nodes; /**< likewise, of the candidates */
	size_t ntried_nodes;
	/** The node on which the task arrived, where children are groups, which do not know it. */
	const struct eh_report *home;
	bool leaves; /**< it is to leave home even if that is not a sender: home is among
					 *   `tried_nodes` then */
};

struct eh_event_failed {
	uint64_t id;
};

struct eh_event {
	enum eh_event_type type;
	unsigned int child; /**< 0..2^n-1; not for TICK and RULE */
	union {
		struct eh_report join;
		struct eh_event_drain drain;
		struct eh_event_report report;
		struct eh_event_arrive arrive;
		struct eh_event_failed failed;
		struct eh_rule rule;
	};
};

enum eh_update_type {
	EH_UP_PLACE, /**< put task `id` on `child` (its load is counted there from now) */
	EH_UP_NONE, /**< run task `id` at home: no node can take it, or home is not a sender now (then:
			 *   `calm`, and where children are nodes its load is counted there from now) */
	EH_UP_ASK, /**< this group cannot take task `id`: ask the level above */
	EH_UP_THRESHOLD, /**< child's new threshold, in this epoch, by this rule */
};

struct eh_update {
	enum eh_update_type type;
	unsigned int child;
	uint64_t id;
	uint64_t threshold, length;
	uint64_t epoch;
	unsigned int probes; /**< times a controller was looked at for this placement (MPN) */
	enum eh_state found; /**< state of the chosen child before the placement */
	uint32_t node; /**< the chosen candidate, where children are groups */
	enum eh_state own; /**< of the group when it was first looked at */
	bool calm;
	struct eh_rule rule;
};

/** Receives the updates of one step, in order. */
typedef void (*eh_emit_fn)(void *ctx, const struct eh_update *update);

/** NULL: no memory, or n is above EH_N_MAX. It has no children yet. */
struct eh_group *eh_group_new(const struct eh_group_options *options);
void eh_group_free(struct eh_group *group);

/**
 * One event. 0, -EINVAL (child out of range or absent, a value above
 * EH_VALUE_MAX) or -ENOMEM; with an error nothing has changed and nothing was
 * emitted. `emit` must not step the group.
 */
int eh_group_step(struct eh_group *group, const struct eh_event *event, uint64_t now,
		  eh_emit_fn emit, void *ctx);

/** What the group knows of a child; its load includes grants that no report has yet. */
struct eh_child {
	struct eh_report own;
	enum eh_state state; /**< dwell included */
};
/** 0, or -EINVAL: there is no such child. */
int eh_group_child(const struct eh_group *group, unsigned int child, struct eh_child *out);

/** The sums over the children: the controller's own load, threshold and length (section 2 of the
 *  paper). */
struct eh_sums {
	uint64_t load, threshold, length, floor, capacity, epoch;
	unsigned int members, nodes;
	/** Below T-A only because dwelling children are below theirs. So a group in state receiver has a
	 *  child in that state (theorem 2.1). */
	bool dwell;
	enum eh_state state; /**< dwell included */
};
void eh_group_sums(const struct eh_group *group, struct eh_sums *out);

/** The nodes to place tasks on, best first, those of the groups below included. `first` is the
 *  number of child 0 where children are nodes. Returns the number of nodes. */
size_t eh_group_best(const struct eh_group *group, uint32_t first,
		     struct eh_candidate out[EH_BEST_MAX]);

#endif
