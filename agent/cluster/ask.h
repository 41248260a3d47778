/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file ask.h
 * What placements ask the hierarchy: who takes this task?
 */
#ifndef AGENT_CLUSTER_ASK_H
#define AGENT_CLUSTER_ASK_H

#include <linux/ehsched.h>
#include <stddef.h>
#include <stdint.h>
#include "eh/member.h"
#include "net/peer.h"

/** The hierarchy's answer to "who takes it?"; done exactly once. */
struct ask_answer {
	struct peer *to; /**< NULL: it stays, for `reason` */
	enum ehs_reason reason;
	unsigned int probes; /**< controllers looked at */
	const struct eh_probe *path; /**< they; the last has decided */
	size_t npath;
};
typedef void (*ask_fn)(void *ctx, const struct ask_answer *answer);
void ask_start(const char *id, uint64_t size, struct peer *const *tried, unsigned int ntried,
	       unsigned int time_ms, ask_fn done, void *ctx);
void ask_failed(const char *id, struct peer *to, const struct eh_probe *decider);
/** The answer to an ask of this node has come. */
void ask_answered(const struct eh_message *answer);
/** Those that nobody will answer any more. */
void ask_tick(void);
/** Ids of tasks that were to run here, at home, and are in the load by now. Returns how many. */
size_t ask_take_seen(uint64_t *ids, size_t max);

#endif
