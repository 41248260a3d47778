/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file hello.h
 * The first message of both sides of a connection: their identity (docs/protocol.md).
 */
#ifndef AGENT_CLUSTER_HELLO_H
#define AGENT_CLUSTER_HELLO_H

#include <jansson.h>
#include <stdbool.h>
#include "cluster/versions.h"
#include "net/ops.h"

struct agent;
struct peer;

json_t *hello_new(struct agent *agent); /**< NULL: no memory */
/**
 * Takes what a peer's hello says of its versions. False: there is no common version of the protocol,
 * and `why` says which side must be upgraded.
 */
bool hello_fits(struct peer *peer, const json_t *said, char why[VERSIONS_TEXT]);
/** Says hello over a link that was made, and asks for admission if the peer does not know this host
 *  (net_ops.greet). */
void hello_greet(struct peer *peer);
/** Hello of a host that has connected (net_ops.greeted). */
int hello_check(struct agent *agent, const struct net_caller *caller, const json_t *said,
		struct peer **from, json_t **reply);

#endif
