/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file withdraw.h
 * Revocation: the host of the authority makes lists, and all members pass the newest on. As a list
 * is signed and has a number, anyone may carry it: to those that are linked at once, and to others
 * when a message says that its sender has a newer one.
 */
#ifndef AGENT_CLUSTER_WITHDRAW_H
#define AGENT_CLUSTER_WITHDRAW_H

#include <jansson.h>

struct agent;
struct peer;

typedef void (*withdraw_done_fn)(void *ctx, json_t *revoked, const char *why);

/**
 * Revokes a node (as names_find() takes it) or the certificate of a fingerprint; or a `host` of that
 * name (then `what` is NULL), member or not. It is in force and spreads at once; `done` is called once,
 * when it is on disk, too: with {"version","number","host"|"fingerprint"}, which it takes over, or with
 * NULL and the reason.
 */
void withdraw_make(struct agent *agent, const char *what, const char *host, withdraw_done_fn done,
		   void *ctx);
/** {"version","number","revoked":[{"host"|"fingerprint","time"}]}; NULL: no memory. */
json_t *withdraw_list(struct agent *agent);

/** Looks at a peer's hello or message: `revoked` is the number of its list. */
void withdraw_seen(struct peer *from, const json_t *body);
/** GET /v1/revoked. */
json_t *withdraw_on_get(struct agent *agent, struct peer *from, const json_t *body, int *status);
/** POST /v1/revoked: a list that a member passes on. */
json_t *withdraw_on_post(struct agent *agent, struct peer *from, const json_t *body, int *status);

#endif
