/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file peer.h
 * The nodes of the cluster, this one included, and the warm connection this
 * agent keeps to each. A peer is never freed while the agent runs, so pointers
 * to it stay good; one that a reload took out of the configuration has no
 * `config` any more and is never up.
 */
#ifndef AGENT_PEER_H
#define AGENT_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include "config.h"

struct h2_conn;

struct peer {
	struct eh_code code;
	char text[EH_CODE_TEXT]; /**< "0.1" */
	const struct config_peer *config; /**< NULL: not in the configuration any more */
	bool self;
	bool up; /**< connected, and hello was answered */
	struct h2_conn *conn; /**< connection we opened; NULL: none */
	uint32_t capacity; /**< what it said in its hello */
	char boot_id[40];
	char users[20]; /**< its user_digest() */
	uint64_t ran; /**< tasks of this node that started there */
	int64_t skew_ms; /**< its clock less ours, at the hello */
	char trouble[160]; /**< why it is not up */
	/* private to peer.c */
	size_t place; /* in the table */
	struct event *timer; /**< next connect, or next PING */
	unsigned int backoff_ms;
	/* private to placement.c: not chosen before `avoid_until` (ms, monotonic) */
	uint64_t avoid_until;
	unsigned int avoid_ms;
};

int peer_init(void); /**< from agent.config; 0 or -errno */
void peer_reload(void); /**< agent.config was swapped; the old one is freed after this */
void peer_exit(void);

/** Iteration: for (p = peer_next(NULL); p; p = peer_next(p)); only configured ones. */
struct peer *peer_next(const struct peer *after);
struct peer *peer_self(void);
struct peer *peer_by_code(struct eh_code code);
struct peer *peer_by_text(const char *code); /**< dots or octal; NULL: not configured */
struct peer *peer_by_host(const char *host);

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
	return p->config ? p->config->host : "?";
}

#endif
