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

struct agent;

/** The hierarchy's answer to "who takes it?"; done exactly once. */
struct ask_answer {
	struct peer *to; /**< NULL: it stays, for `reason` */
	enum ehs_reason reason;
	unsigned int probes; /**< controllers looked at */
	const struct eh_probe *path; /**< they; the last has decided */
	size_t npath;
};
typedef void (*ask_fn)(void *ctx, const struct ask_answer *answer);
void ask_start(struct agent *agent, const char *id, uint64_t size, struct peer *const *tried,
	       unsigned int ntried, unsigned int time_ms, ask_fn done, void *ctx);
void ask_failed(struct agent *agent, const char *id, struct peer *to,
		const struct eh_probe *decider);
/** What the hierarchy tells it. */
extern const struct hierarchy_ops ask_ops;
int ask_init(struct agent *agent); /**< 0 or -ENOMEM */
/** Questions that are open are dropped. */
void ask_exit(struct agent *agent);

#endif
