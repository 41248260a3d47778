/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file link.h
 * The connection to one peer: made on demand (link_open(), client_request()) or kept
 * up (link_pin()), watched with a PING each heartbeat, closed when idle.
 */
#ifndef AGENT_NET_LINK_H
#define AGENT_NET_LINK_H

#include "net/client.h"
#include "net/h2_stream.h"
#include "net/peer.h"

int link_init(struct peer *p); /**< 0 or -ENOMEM */
void link_exit(struct peer *p);
/** Keeps the link to a peer up: reconnects (with backoff), and says when it goes down
 *  (net_ops.changed). Off: the link stays until it is idle. */
void link_pin(struct peer *p, bool on);
/** peer->pinned, ->known, ->host or ->address changed; `why`: what there is must be closed. */
void link_update(struct peer *p, const char *why);

/** Opens a stream over the link to a peer, which is made if there is none: the stream goes out once
 *  the peer has answered our hello, and is closed (clean: false) if it does not. NULL (errno): ENOTCONN
 *  (not known, or failed just now: to->trouble), EAGAIN (too many wait for the link), ENOMEM. */
struct h2_stream *link_open(struct peer *to, const char *method, const char *path,
			    const struct h2_stream_ops *ops, void *ctx);
/** JSON over POST (GET when there is no body), over a link made on demand. `done` is called exactly once,
 *  later: status 0 when there was no answer (no link: to->trouble says why, or the time was over);
 *  `reply` is borrowed and may be NULL. Returns 0, or -ENOMEM: `done` is not called. */
int link_request(struct peer *to, const char *path, json_t *body_stolen, unsigned int timeout_ms,
		 client_reply_fn done, void *ctx);

#endif
