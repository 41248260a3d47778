/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file hello.h
 * The first message of both sides of a connection: their identity (docs/protocol.md).
 */
#ifndef AGENT_NET_HELLO_H
#define AGENT_NET_HELLO_H

#include <jansson.h>
#include <stdbool.h>
#include "cluster/versions.h"

struct agent;
struct peer;

json_t *hello_new(struct agent *agent); /**< NULL: no memory */
/**
 * Takes what a peer's hello says of its versions. False: there is no common version of the protocol,
 * and `why` says which side must be upgraded.
 */
bool hello_fits(struct peer *peer, const json_t *said, char why[VERSIONS_TEXT]);
/** The body of the answer that refuses it; it has our versions, so that the other side sees it, too. */
json_t *hello_refusal(struct agent *agent, const char *why); /**< NULL: no memory */

#endif
