/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file member.h
 * A node as a member of EH(n,l), with all the controller's roles it plays now.
 * Pure: the agent, the simulator and the tests drive it with messages and time.
 *
 * A node of rank r is the controller of its groups of levels 1..r, and reports
 * to one parent, the controller of its group of level r+1; rank l is the top.
 * The controller of a group is its live node with the lowest number, so ranks
 * need no vote: a node without a parent asks the lower nodes of its group, and
 * leads it when none of them lives. Where two lead one group for a moment (a
 * partition heals, a node comes back) the higher one yields as soon as either
 * hears of the other. All of it is soft state, rebuilt from reports.
 *
 * Thresholds follow the top's rule (struct eh_rule), which every message
 * carries; a node takes it from its parent only. A controller that has just
 * started has none and takes the one of the first report that it gets.
 *
 * Times are milliseconds of the driver's clock, loads and the like thousandths
 * of a mean work load, nodes are numbers of level 0 (struct eh_code).
 */
#ifndef EH_MEMBER_H
#define EH_MEMBER_H

#include "eh.h"

#define EH_NO_NODE UINT32_MAX
#define EH_TRIED_MAX 16 /**< most nodes that an ask excludes */
#define EH_SEEN_MAX 256 /**< most ids of placements in a report */
#define EH_ROUTE_MAX (EH_LEVELS_MAX + 1) /**< most nodes on an ask's way */
#define EH_PROBES_MAX 1024 /**< most times that controllers were looked at for an ask */

struct eh_member;

struct eh_member_options {
	struct eh_topology topology;
	uint32_t self; /**< number of this node in level 0 */
	/** reports at least this often; after three without, a peer is gone */
	uint32_t heartbeat_ms;
	uint32_t grant_ms, calm_ms; /**< as in struct eh_group_options */
	bool least;
	/** A new rule goes only with other messages; else, as in the paper, it is also sent to all at once. */
	bool lazy;
	uint64_t seed;
};

enum eh_message_type {
	EH_MSG_REPORT, /**< `report`: child to the controller of `level` */
	EH_MSG_ORDER, /**< the answer to a report, and a new rule */
	EH_MSG_REDIRECT, /**< `redirect`: not me, another node leads the group of `level` */
	EH_MSG_CLAIM, /**< I lead your group of `level`: report to me, or name a lower node */
	EH_MSG_LEAVE, /**< the sender ends */
	EH_MSG_ASK, /**< `ask`: a task needs a place; to the controller of `level` */
	EH_MSG_ANSWER, /**< `answer`: its place, or why there is none */
	EH_MSG_FAILED, /**< `failed`: a placement was not used */
};

#define EH_MSG_TYPES (EH_MSG_FAILED + 1)

/** "report", …, "failed": in JSON and for people. */
const char *eh_message_name(enum eh_message_type type);

/** Why a task runs where it does. */
enum eh_why {
	EH_WHY_SENDER, /**< elsewhere: home is a sender */
	EH_WHY_NOT_SENDER, /**< at home, which is not a sender now */
	EH_WHY_NO_RECEIVER, /**< at home: no node can take it */
	EH_WHY_NO_CONTROLLER, /**< at home: there is no controller to decide */
};

/** A controller that was looked at for a placement. */
struct eh_probe {
	unsigned int level;
	uint32_t node; /**< the node that plays it */
	enum eh_state state;
};

struct eh_message_report {
	struct eh_report own;
	struct eh_candidate best[EH_BEST_MAX];
	size_t nbest;
	const uint64_t *seen;
	size_t nseen; /**< at most EH_SEEN_MAX */
};

struct eh_message_redirect {
	uint32_t to; /**< leads the group or knows which node does; the receiver itself:
					 *   none does yet, ask again */
};

struct eh_message_ask {
	uint64_t id; /**< of the task, chosen by its home */
	uint64_t size; /**< its load */
	bool leaves; /**< it is to leave home even if that is not a sender */
	uint32_t home; /**< the node it arrived on */
	struct eh_report at_home; /**< that node's values */
	uint32_t tried[EH_TRIED_MAX]; /**< nodes that have refused it; home, if it `leaves` */
	size_t ntried;
	unsigned int probes; /**< times a controller was looked at (MPN of the paper) */
	struct eh_probe path[EH_ROUTE_MAX]; /**< these controllers; the last one decided */
	size_t npath;
	uint32_t route[EH_ROUTE_MAX]; /**< the answer's way back */
	size_t nroute;
};

struct eh_message_answer {
	struct eh_message_ask ask; /**< what it answers */
	uint32_t to; /**< the node that takes the task; EH_NO_NODE: none */
	enum eh_why why;
};

struct eh_message_failed {
	uint64_t id;
	uint32_t to; /**< the node it was placed on */
};

struct eh_message {
	enum eh_message_type type;
	unsigned int level; /**< of the group it is about, 1..l */
	struct eh_rule rule; /**< the sender's; capacity 0: none yet */
	union {
		struct eh_message_report report;
		struct eh_message_redirect redirect;
		struct eh_message_ask ask;
		struct eh_message_answer answer;
		struct eh_message_failed failed;
	};
};

enum eh_member_event_type {
	EH_ME_TICK, /**< time passes; eight times a heartbeat */
	EH_ME_KNOWN, /**< there is such a `node`, up or not */
	EH_ME_UNKNOWN, /**< there is no such `node` any more */
	EH_ME_GONE, /**< the link to `node` broke, or a message to it was not delivered */
	EH_ME_MESSAGE, /**< `message` */
	EH_ME_LOAD, /**< `load`: own values */
	EH_ME_ASK, /**< `ask`: a task arrived here */
	EH_ME_FAILED, /**< `failed`: a task was not placed where the answer said */
	EH_ME_LEAVE, /**< tell those who should know that this node ends */
};

struct eh_member_event_message {
	uint32_t from;
	const struct eh_message *body;
};

struct eh_member_event_load {
	struct eh_report own;
	const uint64_t *seen; /**< placements that are in it */
	size_t nseen; /**< at most EH_SEEN_MAX */
};

struct eh_member_event_ask {
	uint64_t id, size;
	const uint32_t *tried; /**< nodes that are not to take it */
	size_t ntried; /**< those after the first EH_TRIED_MAX are ignored */
	bool leaves; /**< as in struct eh_message_ask */
};

struct eh_member_event_failed {
	uint64_t id;
	uint32_t to;
	struct eh_probe decider;
};

struct eh_member_event {
	enum eh_member_event_type type;
	union {
		uint32_t node;
		struct eh_member_event_message message;
		struct eh_member_event_load load;
		struct eh_member_event_ask ask;
		struct eh_member_event_failed failed;
	};
};

enum eh_member_update_type {
	EH_MU_SEND, /**< message to node */
	EH_MU_ANSWER, /**< to EH_ME_ASK: the message is an EH_MSG_ANSWER */
	EH_MU_THRESHOLD, /**< own threshold, by this rule */
	EH_MU_ROLE, /**< rank or parent changed */
	EH_MU_CHILD, /**< node reports to this one as a child of the group of level `rank`, or
				 *   (`gone`) no longer does */
};

struct eh_member_update {
	enum eh_member_update_type type;
	uint32_t node;
	const struct eh_message *message;
	uint64_t threshold;
	struct eh_rule rule;
	unsigned int rank;
	uint32_t parent; /**< EH_NO_NODE: the top, or none known yet */
	bool gone;
};

typedef void (*eh_member_emit_fn)(void *ctx, const struct eh_member_update *update);

/** It starts alone: rank 0, no parent, no load. NULL: no memory, or self is not in the topology. */
struct eh_member *eh_member_new(const struct eh_member_options *options);
void eh_member_free(struct eh_member *member);

/**
 * One event. 0, -EINVAL (a node or value is out of range; nothing has changed), -EPERM (the sender
 * of a message may not say this; nothing has changed) or -ENOMEM (something was left to the next
 * report or tick). `emit` must not step the member.
 */
int eh_member_step(struct eh_member *member, const struct eh_member_event *event, uint64_t now,
		   eh_member_emit_fn emit, void *ctx);

/** Levels that it leads. */
unsigned int eh_member_rank(const struct eh_member *member);
/** EH_NO_NODE: it is the top, or has not found one yet. */
uint32_t eh_member_parent(const struct eh_member *member);
/** The rule in force; capacity 0: none yet. */
struct eh_rule eh_member_rule(const struct eh_member *member);
/** Of its group of this level. 0, or -ENOENT: it does not lead that. */
int eh_member_sums(const struct eh_member *member, unsigned int level, struct eh_sums *out);
/** A child of a group that this node leads, and the node that reports for it. 0, or -ENOENT. */
int eh_member_child(const struct eh_member *member, unsigned int level, unsigned int digit,
		    struct eh_child *out, uint32_t *node);

#endif
