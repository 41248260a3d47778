/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file link.h
 * The connection to one peer: made on demand (link_open(), client_request()) or kept
 * up (peer_pin()), watched with a PING each heartbeat, closed when idle.
 */
#ifndef AGENT_NET_LINK_H
#define AGENT_NET_LINK_H

#include "net/peer.h"

int link_init(struct peer *p); /**< 0 or -ENOMEM */
void link_exit(struct peer *p);
/** peer->pinned, ->known, ->host or ->address changed; `why`: what there is must be closed. */
void link_update(struct peer *p, const char *why);

#endif
