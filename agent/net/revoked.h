/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file revoked.h
 * The revocation list that this host has (agent->revoke_list), kept beside `state`; and whether this
 * host itself was revoked. cluster/withdraw.h makes lists and spreads them.
 */
#ifndef AGENT_NET_REVOKED_H
#define AGENT_NET_REVOKED_H

#include <stddef.h>
#include <stdint.h>
#include "base/keep.h"

struct agent;

/** Reads what was kept. 0 or -ENOMEM. */
int revoked_init(struct agent *agent);
/** The certificates of the configuration may be others. */
void revoked_reload(struct agent *agent);
void revoked_exit(struct agent *agent);

/**
 * A list as PEM, from whomever: it is signed. 1: it is newer than ours, and the connections that it
 * ends have ended; `kept` (may be NULL) is called when it is on disk too, or that has failed. 0: it is
 * not newer, or there is no memory; -EINVAL with the reason in *why.
 */
int revoked_take(struct agent *agent, const char *text, const char **why, keep_done_fn kept,
		 void *ctx);
/** Number of the list, 0: there is none. */
int64_t revoked_number(const struct agent *agent);
/** The list as PEM; NULL: there is none. */
const char *revoked_text(const struct agent *agent);

/** A member whose certificate is good refuses ours, because it was revoked. */
void revoked_told(struct agent *agent, const char *by);
/** That member accepts it. */
void revoked_accepted(struct agent *agent, const char *by);
/** The source of the news that this host was revoked: a host, or "the list here". NULL: none. */
const char *revoked_by(const struct agent *agent);

#endif
