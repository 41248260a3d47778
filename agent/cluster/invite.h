/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file invite.h
 * Invitations: hosts that show a token get a certificate (docs/decisions/0012). Only the host that has
 * the authority's key (`authority-key`) invites. Digests of tokens are kept beside `state`, so that an
 * invitation outlives the agent, and one that was used does not.
 */
#ifndef AGENT_CLUSTER_INVITE_H
#define AGENT_CLUSTER_INVITE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct agent;

#define INVITE_SECONDS 3600 /**< for which one is good, unless said otherwise */
#define INVITE_SECONDS_MAX (7 * 86400)

typedef void (*invite_done_fn)(void *ctx, json_t *invitation, const char *why);
typedef void (*invite_answer_fn)(void *ctx, json_t *answer);

/** Reads what was kept. 0 or -ENOMEM. */
int invite_init(struct agent *agent);
void invite_exit(struct agent *agent);

/**
 * Makes one: {"token","seconds","address","host"?}. For a `host` (NULL: any that is not a member) it
 * may also replace the certificate of a member. `done` is called once, when it is on disk or cannot be
 * made: with what it takes over, or with NULL and the reason.
 */
void invite_make(struct agent *agent, unsigned int seconds, const char *host, invite_done_fn done,
		 void *ctx);

/** Whether there is one that has not ended. */
bool invite_is_open(struct agent *agent);
/** A stranger at `where` asks: net_ops.visit. A token counts as used before he gets anything. */
void invite_on_visit(struct agent *agent, const char *where, const char *line, size_t length,
		     invite_answer_fn answer, void *ctx);

#endif
