/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file link.h
 * The connection to one peer: made on demand (link_open(), link_request()) or kept
 * up (link_pin()), checked with a PING each heartbeat, closed when idle.
 */
#ifndef AGENT_NET_LINK_H
#define AGENT_NET_LINK_H

#include "net/client.h"
#include "net/h2_stream.h"
#include "net/peer.h"

int link_init(struct peer *p); /**< 0 or -ENOMEM */
void link_exit(struct peer *p);
/** Keeps the link to a peer up: reconnects (with backoff), and reports changes
 *  (net_ops.changed). Off: the link stays until it is idle. */
void link_pin(struct peer *p, bool on);
/** After a change of peer->pinned, ->known, ->host or ->address. `why`: reason to close the
 *  present connection, or NULL to keep it. */
void link_update(struct peer *p, const char *why);

/** The peer has accepted this host (net_ops.greet): requests that wait are sent. */
void link_up(struct peer *p);
/**
 * Tells an event `peer`, unless the last one said the same; of one that is not told to be up, or not
 * pinned, not that it is down; and not that one is up that was so before this node had to do with it.
 */
void link_tell(struct peer *p, bool up);

/** Opens a stream over the link to a peer, and makes the link if there is none. The stream is sent
 *  when the peer has answered our hello, and closed (clean: false) if it does not. NULL (errno):
 *  ENOTCONN (not known, or failed just now: to->trouble), EAGAIN (too many wait for the link),
 *  ENOMEM. */
struct h2_stream *link_open(struct peer *to, const char *method, const char *path,
			    const struct h2_stream_ops *ops, void *ctx);
/** JSON over POST (GET if there is no body), over a link made on demand. `done` is called exactly
 *  once, later: status 0 if there was no answer (no link: to->trouble says why; or a timeout);
 *  `reply` is borrowed and may be NULL. Returns 0, or -ENOMEM: `done` is not called. */
int link_request(struct peer *to, const char *path, json_t *body_stolen, unsigned int timeout_ms,
		 client_reply_fn done, void *ctx);

#endif
