/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file slots.h
 * Slots of builds (`ehctl run --jobserver`): each build here says again and again how many it uses and
 * wants, this node tells the top controller the sums of each user (POST /v1/slots), and that shares out
 * what the cluster has free (lib/eh/slots.h). Without a top controller, or if that is of an earlier
 * version, a node shares out what it has free itself. Nothing is kept: a build that is silent is forgotten.
 */
#ifndef AGENT_CLUSTER_SLOTS_H
#define AGENT_CLUSTER_SLOTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "net/peer.h"

struct agent;
struct server_answer;

#define SLOTS_AGAIN_MS 500 /**< how often a build asks */

/** What a build says. */
struct slots_wish {
	uid_t uid;
	uint64_t build; /**< a number that it has chosen */
	unsigned int used, wants;
	bool here; /**< its jobs cannot leave this node */
};

int slots_init(struct agent *agent); /**< 0 or -ENOMEM */
/** Nobody is called back any more. */
void slots_exit(struct agent *agent);

/** `of_cluster`: not of this node alone. */
typedef void (*slots_fn)(void *ctx, unsigned int slots, bool of_cluster);
/** How many this build has now. `done` is called exactly once, perhaps at once; not after slots_exit(). */
void slots_ask(struct agent *agent, const struct slots_wish *wish, slots_fn done, void *ctx);

/** This build has ended: others get its slots at once. */
void slots_ended(struct agent *agent, uid_t uid, uint64_t build);

/** Handler of POST /v1/slots. */
void slots_on_message(struct agent *agent, struct peer *from, const json_t *body,
		      struct server_answer *answer);

#endif
