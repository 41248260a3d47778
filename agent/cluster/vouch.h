/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file vouch.h
 * What proves an entry of the roster: the signature of its host, and for a code that another host
 * has, that of who gave it (docs/decisions/0013-signed-roster-entries.md).
 */
#ifndef AGENT_CLUSTER_VOUCH_H
#define AGENT_CLUSTER_VOUCH_H

#include <jansson.h>
#include "cluster/roster.h"

struct agent;
struct peer;

/** This host signs what it says of itself: e->proof, a reference of the caller's. 0 or -EIO. */
int vouch_sign(const struct agent *agent, const struct eh_topology *topology,
	       struct roster_entry *e);
/** As the top controller: a proof that this host has given the code. NULL: no memory. */
json_t *vouch_grant(const struct agent *agent, const struct eh_topology *topology,
		    const struct roster_entry *e);
/** Signs this host's own entry, if its certificate has not done that yet. 1: it has now; 0 or -EIO. */
int vouch_own(const struct agent *agent, struct roster *roster);

/** NULL: the entry is signed by its host; or what is wrong. */
const char *vouch_check(const struct agent *agent, const struct eh_topology *topology,
			const struct roster_entry *e);
/**
 * Drops from `theirs`, which a peer sent, the entries that change `ours` and may not. Looks at no
 * others, and in one call at a bounded number of them: the rest is dropped, too, and comes again
 * with the next exchange. Counts those that are wrong, and says so once for each peer.
 */
void vouch_filter(const struct agent *agent, const struct roster *ours, struct roster *theirs,
		  struct peer *from);
/** Drops from a roster that is the first one of this host, sent or saved, what is not signed. */
void vouch_first(const struct agent *agent, struct roster *first, const char *where);
/** When the certificate of the host's entry begins, in seconds since 1970; 0: it is not known. */
int64_t vouch_begins(const struct roster *roster, const char *host);
/** Drops the entries that revoked certificates prove: the newest list may be new. */
void vouch_again(struct agent *agent, struct roster *roster);
/** The roster as others get it: signed entries, as many as fit into a body. NULL: no memory. */
json_t *vouch_json(const struct roster *roster);

#endif
