/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file ask.h
 * Asks the hierarchy for placements: which node takes this task?
 */
#ifndef AGENT_CLUSTER_ASK_H
#define AGENT_CLUSTER_ASK_H

#include <linux/ehsched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "eh/member.h"
#include "net/peer.h"

struct agent;

/** The answer to an ask. Borrowed during the call. */
struct ask_answer {
	struct peer *to; /**< NULL: the task stays here, for `reason` */
	enum ehs_reason reason;
	unsigned int probes; /**< controllers that were asked */
	const struct eh_probe *path; /**< these controllers; the last one decided */
	size_t npath;
};
typedef void (*ask_fn)(void *ctx, const struct ask_answer *answer);
/** What is asked. Borrowed during the call. */
struct ask_question {
	const char *id;
	uint64_t size; /**< of the task, in thousandths of a task */
	bool leaves; /**< it is to leave this node even if that is not a sender */
	struct peer *const *tried; /**< nodes that are not to take it */
	unsigned int ntried, time_ms;
};
/**
 * Asks for a node to run a task. `done` is called exactly once, at the latest after about
 * `time_ms`; not after ask_exit().
 */
void ask_start(struct agent *agent, const struct ask_question *question, ask_fn done, void *ctx);
/** Tells the controller that decided that `to` did not take the task after all. */
void ask_failed(struct agent *agent, const char *id, struct peer *to,
		const struct eh_probe *decider);
/** Callbacks for hierarchy.c. */
extern const struct hierarchy_ops ask_ops;
int ask_init(struct agent *agent); /**< 0 or -ENOMEM */
/** Drops open asks without calling them back. */
void ask_exit(struct agent *agent);

#endif
