/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file eh.h
 * Decision core of the extended hypercube EH(n,l) (paper 4): what a controller
 * knows of its children and what it decides. Pure: no I/O, clock or threads;
 * the agent, the simulator and the tests drive the same code. Times are
 * milliseconds of the driver's clock; loads, thresholds and lengths are
 * thousandths of a mean work load.
 *
 * One struct eh_group is one controller with up to 2^n children, which may be
 * nodes (level 1) or controllers of the level below: a child is only load,
 * threshold, length, capacity, so levels are stacked without other code.
 */
#ifndef EH_H
#define EH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "rule.h"
#include "topology.h"

/** Largest load, threshold, length, floor, capacity or size: the sums of 2^10 children fit 63 bits. */
#define EH_VALUE_MAX	(1ull << 52)
/** Placements outstanding in one group; at this many the next ARRIVE is -ENOMEM. */
#define EH_GRANTS_MAX	65536
/** Nodes that a controller names to the level above as those to place tasks on. */
#define EH_BEST_MAX	8

struct eh_group;

struct eh_group_options {
	unsigned int n;			/**< up to 2^n children, n <= 10 */
	bool groups;			/**< the children are controllers, not nodes */
	bool below;			/**< there is a level above: it moves the thresholds, and is asked
					 *   when this group is a sender */
	bool least;			/**< descend to the least loaded of the best state, else random */
	/** A placement counts until seen in a report, this long at most; and thresholds are
	 *  lowered when the paper's finish rule has held for calm_ms (0: at once, as there). */
	uint32_t grant_ms, calm_ms;
	uint64_t seed;			/**< of the tie breaks */
};

/** A node that can take a task, as its controller names it to the level above. */
struct eh_candidate {
	uint32_t node;			/**< number of the node in level 0 */
	uint64_t load, threshold, length;
	bool dwell;			/**< no receiver yet: see struct eh_report */
};

/** What thresholds are shared out by, T_i = ceil(load*w_i/capacity): of the top, in this epoch. */
struct eh_rule {
	uint64_t epoch;			/**< 0: none yet, thresholds are the nodes' own */
	uint64_t load, capacity;
};

/** A node's own values, or the sums of a group. Thousandths of a task. */
struct eh_report {
	uint64_t load, threshold, length, floor, capacity;
	uint32_t nodes;
	bool draining;			/**< takes no new tasks */
	bool dwell;			/**< not below T-A for long enough: ok, not yet a receiver */
};

/** The state by what is reported. */
static inline enum eh_state eh_report_state(const struct eh_report *r)
{
	return eh_state_dwell(r->load, r->threshold, r->length, r->dwell);
}

/** The node on which a task arrived, for controllers that do not know it. */
struct eh_home {
	uint64_t load, threshold, length, floor, capacity;
	bool dwell;
};

enum eh_event_type {
	EH_EV_JOIN,	/**< `join`: child is there; again: its values changed */
	EH_EV_LEAVE,	/**< child is gone; its grants are forgotten */
	EH_EV_DRAIN,	/**< `drain`: child takes no new tasks, or takes them again */
	EH_EV_REPORT,	/**< `report`: child's load, and what is in it */
	EH_EV_ARRIVE,	/**< `arrive`: a task on child asks for a place (TaskArrive of paper 4) */
	EH_EV_FAILED,	/**< `failed`: a grant to child was not used */
	EH_EV_TICK,	/**< time passes. Grants expire and the finish rule is checked here and with all
			 *   events but ARRIVE */
	EH_EV_RULE,	/**< `rule`: the top's rule; all thresholds change */
};

/** Values up to EH_VALUE_MAX. */
struct eh_event_join {
	uint64_t load, threshold, length, floor;
	uint64_t capacity;		/**< not 0 */
	uint32_t nodes;			/**< nodes in the child; 0 counts as 1 */
	bool dwell;
};

struct eh_event_drain {
	bool draining;
};

struct eh_event_report {
	uint64_t load;
	bool dwell;
	const uint64_t *seen;		/**< ids of the grants that are in the load */
	size_t nseen;
	const struct eh_candidate *best;/**< its best nodes, where children are groups */
	size_t nbest;			/**< at most EH_BEST_MAX */
};

struct eh_event_arrive {
	uint64_t id;			/**< of the placement, chosen by the driver */
	uint64_t size;			/**< load of the task */
	const uint64_t *tried;		/**< bitmap of children not to choose (they refused), or NULL */
	const uint32_t *tried_nodes;	/**< likewise, of the candidates */
	size_t ntried_nodes;
	const struct eh_home *home;	/**< where children are groups */
};

struct eh_event_failed {
	uint64_t id;
};

struct eh_event {
	enum eh_event_type type;
	unsigned int child;		/**< 0..2^n-1; not for TICK and RULE */
	union {
		struct eh_event_join join;
		struct eh_event_drain drain;
		struct eh_event_report report;
		struct eh_event_arrive arrive;
		struct eh_event_failed failed;
		struct eh_rule rule;
	};
};

enum eh_update_type {
	EH_UP_PLACE,	/**< put task `id` on `child` (its load is counted there from now) */
	EH_UP_NONE,	/**< nobody can take task `id`, or home is no sender (any more: `calm`, and where
			 *   children are nodes its load is counted there from now): run it at home */
	EH_UP_ASK,	/**< this group cannot take task `id`: ask the level above */
	EH_UP_THRESHOLD,/**< child's new threshold, in this epoch, by this rule */
};

struct eh_update {
	enum eh_update_type type;
	unsigned int child;
	uint64_t id;
	uint64_t threshold, length;
	uint64_t epoch;
	unsigned int probes;		/**< times a controller was looked at for this placement (MPN) */
	enum eh_state found;		/**< state of the chosen child before the placement */
	uint32_t node;			/**< the chosen candidate, where children are groups */
	enum eh_state own;		/**< of the group when it was first looked at */
	bool calm;
	struct eh_rule rule;
};

/** Receives the updates of one step, in order. */
typedef void (*eh_emit_fn)(void *ctx, const struct eh_update *update);

struct eh_group *eh_group_new(const struct eh_group_options *options);	/**< NULL: no memory, bad n */
void eh_group_free(struct eh_group *group);

/** 0, -EINVAL (child out of range or absent, value above EH_VALUE_MAX), -ENOMEM; with an
 *  error the state is unchanged and nothing was emitted. `emit` must not step the group. */
int eh_step(struct eh_group *group, const struct eh_event *event, uint64_t now,
	    eh_emit_fn emit, void *ctx);

/** What the group knows of a child; load includes grants not yet seen. */
struct eh_child {
	bool present, draining, dwell;
	uint64_t load, threshold, length, floor, capacity;
	unsigned int nodes;
	enum eh_state state;		/**< dwell included */
};
int eh_group_child(const struct eh_group *group, unsigned int child, struct eh_child *out);

struct eh_sums {
	uint64_t load, threshold, length, floor, capacity, epoch;
	unsigned int members, nodes;
	bool dwell;			/**< below T-A only by what dwelling children are below theirs */
	enum eh_state state;		/**< dwell included */
};
void eh_group_sums(const struct eh_group *group, struct eh_sums *out);

/** The nodes to place tasks on, best first, those of the groups below included; `first` is the
 *  number of child 0 where children are nodes. Returns how many. */
size_t eh_group_best(const struct eh_group *group, uint32_t first,
		     struct eh_candidate out[EH_BEST_MAX]);

#endif
