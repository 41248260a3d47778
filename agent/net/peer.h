/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file peer.h
 * A node of the cluster as this one knows it, itself included. A peer is never freed
 * while the agent runs, so pointers to it stay valid; one that is no longer known has
 * no link (link.h).
 */
#ifndef AGENT_NET_PEER_H
#define AGENT_NET_PEER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/config.h"
#include "cluster/versions.h"

struct agent;
struct log_limit;
struct h2_conn;

/** Why there is no link. */
enum peer_down {
	PEER_UNLINKED, /**< not tried yet, or idle: no failure is known */
	PEER_REFUSED, /**< no listener there, or one side rejects the other */
	PEER_SILENT, /**< no answer to the connect, or silent for three heartbeats */
	PEER_BROKEN, /**< the connection broke */
	PEER_ENDED, /**< its agent ended in order */
};

/** What this node has last told of a peer's agent (link_tell()). */
enum peer_told {
	PEER_UNTOLD,
	PEER_TOLD_UP,
	PEER_WAS_UP, /**< told, but not watched any more */
	PEER_TOLD_DOWN,
};

struct peer {
	struct eh_code code;
	char text[EH_CODE_TEXT]; /**< "0.1" */
	char host[ADDRESS_HOST_MAX + 1]; /**< CN of its certificate */
	struct address address;
	bool known; /**< it is a member of the cluster */
	bool self;
	bool pinned; /**< see link_pin() */
	bool up; /**< linked, and the hello was answered */
	enum peer_down down; /**< why it is not up */
	char trouble[160]; /**< the same as text; "" if no failure is known */
	uint32_t capacity; /**< from its last hello */
	char boot_id[40]; /**< "": no hello yet */
	char users[20]; /**< its user_digest() */
	/* of its last hello, or of its refusal of ours; all 0: there was none */
	struct versions speaks;
	uint32_t protocol; /**< the version that both use; 0: none, see `fit` */
	enum versions_fit fit;
	char release[24]; /**< version of its programs; "": it does not say */
	enum peer_told told;
	uint64_t began; /**< its agent, by its last hello (ms, monotonic); 0: it does not say */
	uint64_t ran; /**< tasks of this node that started there */
	int64_t skew_ms; /**< its clock minus ours, at the hello */
	json_t *said; /**< its last report of itself, as in `status --json`; NULL: none */
	struct agent *agent; /**< whose peer it is */
	/* private to peers.c */
	size_t place; /* in the table */
	/* private to link.c */
	struct log_limit *failures; /* limits messages about links, for all peers of the agent */
	struct h2_conn *conn;
	bool greeting; /* the link was made, and is not up yet */
	bool introduced; /* private to hello.c: it was asked for admission, over this link */
	struct event *timer; /* next connect, or next PING */
	unsigned int backoff_ms;
	uint64_t used_at, failed_at; /* ms, monotonic */
	unsigned int unproven; /* entries of the roster that it had no proof for (vouch.c) */
	bool asked; /* private to withdraw.c: for its revocation list */
	/* private to renew.c: certificates that it asked for since then (ms, monotonic) */
	uint64_t renewals_since;
	unsigned int renewals;
	unsigned int places; /* private to reserve.c: its guests and reservations here */
	uint64_t
		names_at; /* private to admit.c: until when it has used its time for names of users (us, monotonic) */
	/* private to pair_run.c: runs that it asked for since then (ms, monotonic) */
	uint64_t runs_since;
	unsigned int runs;
	json_t *labels; /* private to fit.c: as it said `labels_at` (ms, monotonic); NULL: not yet */
	uint64_t labels_at;
	uint64_t offers_back_at; /* private to seat.c (patience.h) */
	/* private to placement*.c: not chosen before `avoid_until` (ms, monotonic) */
	uint64_t avoid_until;
	unsigned int avoid_ms;
	/** It showed its certificate, on a connection of either side (ms, monotonic; 0: never). */
	uint64_t identified_at;
	/* private to lapse.c: looked at (ms, monotonic); not seen for this long; asked then, and seen
	 * before that; looks in vain since */
	uint64_t watched_at, unseen_ms;
	bool probed, alive;
	unsigned int vain;
};

static inline bool peer_is_up(const struct peer *p)
{
	return p->up;
}

static inline const char *peer_code(const struct peer *p)
{
	return p->text;
}

static inline const char *peer_host(const struct peer *p)
{
	return p->host;
}

/** As text: "up", "down", or "idle" if there is no link and no failure is known. */
static inline const char *peer_state(const struct peer *p)
{
	return p->up ? "up" : p->down == PEER_UNLINKED ? "idle" : "down";
}

#endif
