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
 * again after a lease, and a new controller gets new credits at once. Pure: no input,
 * output, clock or threads. Times are milliseconds of the driver's clock.
 */
#ifndef EH_IDLE_H
#define EH_IDLE_H

#include "credit.h"
#include "idle_message.h"
#include "topology.h"

#include <stddef.h>

#define EH_IDLE_HELD_MAX 1024 /**< most asks that wait at the top */
/** Credits that an exec asks for, if others came to the node of the first one before. */
#define EH_IDLE_WANTS 2

struct eh_idle;

struct eh_idle_options {
	struct eh_topology topology;
	uint32_t self; /**< number of this node in level 0 */
	uint64_t life; /**< greater at each start, such as the time of it */
	unsigned int processors;
	/** all is told again; a node that is silent for three has no credits */
	uint32_t heartbeat_ms;
	uint32_t lease_ms; /**< a credit that was taken must be used within it */
	uint64_t seed;
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

/** One event. 0, -EINVAL or -EPERM (not the sender's to say: idle_may.h; nothing has changed) or -ENOMEM
 *  (a new role; it leads less than that). `emit` must not step it. */
int eh_idle_step(struct eh_idle *idle, const struct eh_idle_event *event, uint64_t now,
		 eh_idle_emit_fn emit, void *ctx);
/** A task comes with this credit: true once at most. It counts among this node's tasks from now on.
 *  What its controller is to know goes to `emit`. */
bool eh_idle_accept(struct eh_idle *idle, const struct eh_credit *credit, uint64_t now,
		    eh_idle_emit_fn emit, void *ctx);

/**
 * Whether a task would take longer behind `tier` tasks on each processor of a node than here, as one of
 * `tasks` + 1 on `processors`. `slow`: what the node takes for what takes 1000 here, both idle; below
 * 1250 the node is as fast as this one. A quarter more than what is known counts: if the task is
 * longer than others, it loses there.
 */
bool eh_idle_is_slower(unsigned int slow, unsigned int tier, unsigned int tasks,
		       unsigned int processors);

/** How many processors there are below the top: one ask may wait there for each eight, at least one; none for 0. At first
 *  there are none; those that wait stay. */
void eh_idle_hold(struct eh_idle *idle, uint64_t processors);
/** When the first ask that waits here is answered at the latest, by a tick; UINT64_MAX: none waits. */
uint64_t eh_idle_held_until(const struct eh_idle *idle);
/** Of memory. */
size_t eh_idle_bytes(const struct eh_idle *idle);

#endif
