/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file idle_message.h  What nodes with the policy `idle` say to each other (idle.h). */
#ifndef EH_IDLE_MESSAGE_H
#define EH_IDLE_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "pool.h"

#define EH_IDLE_HOPS_MAX 64 /**< an ask that was passed on this often is answered with none */

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
	unsigned int tier; /**< highest that will do */
	unsigned int hops;
	bool down; /**< from the controller above; else from below */
	bool missed; /**< it comes back: there was none below the sender */
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
			uint64_t life, next; /**< those below are taken */
			uint64_t
				reign; /**< of the sender: greater each time that it begins to lead */
		} taken;
		struct {
			uint64_t version;
			struct eh_best best; /**< in the sender's group */
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

#endif
