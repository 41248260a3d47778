/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file idle.h
 * A node's part in the policy `idle`: free processors first, then the thresholds
 * of paper 4. Its credits (credit.h) go to the controller of its group of level 1,
 * and controllers tell upward whether they have some. An exec that finds no free
 * processor at home asks its controller. The ask climbs until there is a credit of
 * tier 0 below, and goes down to it; the answer goes to home at once. At the top an
 * ask may wait a while for a processor; else a credit of tier 1 (one task ahead) is
 * taken; with none of either the answer is that there is none, and home asks the
 * thresholds (EH_ME_ASK in member.h).
 *
 * Roles (rank and parent) are those of member.h, which the driver passes on. It
 * survives lost, doubled and late messages: all state is told again each heartbeat,
 * no credit is accepted twice (credit.h), one that was taken and not used is given
 * anew after a lease, and a new controller gets new credits at once. Pure: no input,
 * output, clock or threads. Times are milliseconds of the driver's clock.
 */
#ifndef EH_IDLE_H
#define EH_IDLE_H

#include "credit.h"
#include "topology.h"

#include <stddef.h>

#define EH_IDLE_HELD_MAX 1024 /**< most asks that wait at the top */
#define EH_IDLE_HOPS_MAX 64 /**< an ask that went so often is answered with none */

struct eh_idle;

struct eh_idle_options {
	struct eh_topology topology;
	uint32_t self; /**< number of this node in level 0 */
	uint64_t life; /**< greater at each start, such as the time of it */
	unsigned int processors;
	uint32_t heartbeat_ms; /**< all is told again; who is silent for three has no credits */
	uint32_t lease_ms; /**< a credit that was taken must be used within it */
	unsigned int held; /**< asks that may wait at the top, at most EH_IDLE_HELD_MAX */
	uint64_t seed;
};

enum eh_idle_message_type {
	EH_IDLE_OFFER, /**< `offer`: a node to the controller of level 1 */
	EH_IDLE_TAKEN, /**< `taken`: its answer, once a heartbeat and to those it does not know */
	EH_IDLE_SOME, /**< `some`: a controller to its parent */
	EH_IDLE_ASK, /**< `ask`: up, or down to the leader of a group */
	EH_IDLE_ANSWER, /**< `answer`: to home */
	EH_IDLE_RETURN, /**< `credit`: nobody will use it; to its node */
};

struct eh_idle_ask {
	uint64_t id; /**< of the exec, chosen by its home */
	uint32_t home;
	uint32_t hold_ms; /**< how long it may wait at the top; 0: not */
	unsigned int tier; /**< that is looked for */
	unsigned int hops;
	bool down; /**< from the controller above; else from below */
	bool missed; /**< it comes back: there was none below the sender */
	bool waited; /**< others may wait too: who has more credits says so at once */
};

struct eh_idle_message {
	enum eh_idle_message_type type;
	unsigned int level; /**< of the receiver's group that it is about, 1..l */
	union {
		struct {
			struct eh_offer credits;
			/** Of the controller that the credits are for. Another one lets none be taken,
			 *  for it does not know which are; it tells its own. */
			uint64_t reign;
			bool beat; /**< of a heartbeat: what is taken is to be told */
		} offer;
		struct {
			uint64_t life, next[EH_TIERS];
			uint64_t
				reign; /**< of the sender: greater each time that it begins to lead */
		} taken;
		struct {
			uint64_t version;
			unsigned int tiers; /**< bits: tiers of which there are some */
			bool again; /**< after an ask that waited: to be passed on to the top */
		} some;
		struct eh_idle_ask ask;
		struct {
			uint64_t id;
			bool found;
			struct eh_credit credit;
		} answer;
		struct eh_credit credit;
	};
};

enum eh_idle_event_type {
	EH_IDLE_TICK, /**< time passes; eight times a heartbeat */
	EH_IDLE_TASKS, /**< `tasks`: that run here now, those of accepted credits included */
	EH_IDLE_WANT, /**< `want`: an exec here finds no free processor */
	EH_IDLE_UNUSED, /**< `credit`: this answer is not needed any more */
	EH_IDLE_ROLE, /**< `role`: of this node, from EH_MU_ROLE */
	EH_IDLE_GONE, /**< `node` ended or cannot be reached */
	EH_IDLE_MESSAGE, /**< `message` */
};

struct eh_idle_event {
	enum eh_idle_event_type type;
	union {
		unsigned int tasks;
		struct {
			uint64_t id;
			uint32_t hold_ms;
		} want;
		struct eh_credit credit;
		struct {
			unsigned int rank;
			uint32_t parent; /**< EH_NO_NODE of member.h: none */
		} role;
		uint32_t node;
		struct {
			uint32_t from;
			const struct eh_idle_message *body;
		} message;
	};
};

struct eh_idle_update {
	enum { EH_IDLE_SEND, EH_IDLE_ANSWERED } type;
	uint32_t node; /**< SEND: to this one */
	const struct eh_idle_message *message; /**< ANSWERED: an EH_IDLE_ANSWER */
};

typedef void (*eh_idle_emit_fn)(void *ctx, const struct eh_idle_update *update);

/** It has no task, rank 0 and no parent. NULL: no memory, or an option is out of range. */
struct eh_idle *eh_idle_new(const struct eh_idle_options *options);
void eh_idle_free(struct eh_idle *idle);

/** One event. 0, -EINVAL (nothing has changed) or -ENOMEM (a new role; it leads less than that). `emit`
 *  must not step it. */
int eh_idle_step(struct eh_idle *idle, const struct eh_idle_event *event, uint64_t now,
		 eh_idle_emit_fn emit, void *ctx);
/** A task comes with this credit: true once at most. It counts among this node's tasks from now on.
 *  What its controller is to know goes to `emit`. */
bool eh_idle_accept(struct eh_idle *idle, const struct eh_credit *credit, uint64_t now,
		    eh_idle_emit_fn emit, void *ctx);

/** Credits of a tier that the controller of level 1 on this node could let be taken now. */
unsigned int eh_idle_credits(const struct eh_idle *idle, unsigned int tier);
/** Asks that wait here. */
unsigned int eh_idle_held(const struct eh_idle *idle);

#endif
