/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file renew.h
 * This host's certificate is replaced, with a new key, when two thirds of its time are over: by the
 * host that has the authority's key. Connections made from then on have it; those that are there end
 * with the old one. As long as it does not work it is tried again, and said.
 */
#ifndef AGENT_CLUSTER_RENEW_H
#define AGENT_CLUSTER_RENEW_H

#include <jansson.h>

struct agent;
struct peer;

int renew_init(struct agent *agent); /**< 0 or -ENOMEM */
/** The configured certificate may be another one. */
void renew_reload(struct agent *agent);
void renew_exit(struct agent *agent);

/** Why the last attempt failed; NULL: none was needed, or it was good. */
const char *renew_trouble(const struct agent *agent);
/** POST /v1/renew: a member asks for a certificate of its own name. */
json_t *renew_on_request(struct agent *agent, struct peer *from, const json_t *body, int *status);

#endif
