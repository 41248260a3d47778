// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/random.h>
#include <jansson.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/event.h"
#include "base/log.h"
#include "job/backoff.h"
#include "net/client.h"
#include "net/h2_conn.h"
#include "net/h2_stream.h"
#include "net/ops.h"
#include "net/peer.h"
#include "net/revoked.h"

#define LINK_BACKOFF_MIN 100 /* ms */
#define LINK_BACKOFF_MAX 2000
#define LINK_NEWS 10 /* heartbeats: a peer that began before that was up already */
#define LINK_RETRY_MS 50 /* a request does not retry a peer that failed more recently */

/* Exponential, and random so that not all nodes connect at once to one that restarted. */
static unsigned int link_backoff(struct peer *p)
{
	unsigned int random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = getpid();
	p->backoff_ms = backoff_next(p->backoff_ms, LINK_BACKOFF_MIN, LINK_BACKOFF_MAX);
	return p->backoff_ms / 2 + random % (p->backoff_ms / 2 + 1);
}

/* ---- up and down ---- */

static void link_say(const struct peer *p)
{
	log_info("%s (%s) is %s%s%s", p->text, p->host, p->up ? "up" : "down", p->up ? "" : ": ",
		 p->up ? "" : p->trouble);
}

/* One that has run for long was up before this node had to do with it. */
static bool link_is_news(const struct peer *p)
{
	return !p->began ||
	       clock_ms() - p->began < (uint64_t)LINK_NEWS * p->agent->config->heartbeat;
}

void link_tell(struct peer *p, bool up)
{
	const enum peer_told told = up ? PEER_TOLD_UP : PEER_TOLD_DOWN, before = p->told;

	if (!up && before != PEER_TOLD_UP && !p->pinned) {
		if (before == PEER_WAS_UP)
			p->told = PEER_UNTOLD;
		return;
	}
	p->told = told;
	if (told == before || (up && before == PEER_WAS_UP) ||
	    (before == PEER_UNTOLD && up && !link_is_news(p)))
		return;
	event_tell(p->agent, "peer",
		   json_pack("{s:s,s:s,s:s}", "node", p->text, "host", p->host, "agent",
			     up ? "up" : "down"));
}

void link_up(struct peer *p)
{
	p->greeting = false;
	p->up = true;
	p->down = PEER_UNLINKED;
	p->trouble[0] = '\0';
	p->backoff_ms = 0;
	p->avoid_until = 0;
	p->avoid_ms = 0;
	revoked_accepted(p->agent, p->host);
	if (p->pinned)
		link_say(p);
	if (p->pinned || p->told == PEER_TOLD_DOWN)
		link_tell(p, true);
	p->agent->net_ops->changed(p);
	h2_stream_send_later(p->conn);
}

/* The link ended, or could not be made. */
static void link_down(struct peer *p, enum peer_down down, const char *why)
{
	bool was_up = p->up, news = p->down != down || strcmp(p->trouble, why);

	p->up = false;
	p->down = down;
	p->failed_at = clock_ms();
	snprintf(p->trouble, sizeof(p->trouble), "%s", why);
	if (was_up) {
		link_say(p);
		link_tell(p, false);
	} else if (news && log_allowed(p->failures)) {
		log_warning("no connection to %s (%s, %s): %s", p->text, p->host, p->address.text,
			    why);
	}
	if (p->pinned && p->known)
		clock_arm(p->timer, link_backoff(p));
	else
		evtimer_del(p->timer);
	if (was_up || p->pinned)
		p->agent->net_ops->changed(p);
}

/* Closes an idle link; that is not a failure of the peer. Never inside a callback of a connection. */
static void link_rest(struct peer *p)
{
	log_debug("%s (%s): closed the unused connection", p->text, p->host);
	h2_conn_free(p->conn);
	p->conn = NULL;
	p->up = false;
	p->down = PEER_UNLINKED;
	evtimer_del(p->timer);
	p->agent->net_ops->changed(p);
}

/* ---- the connection ---- */

static const char *link_on_identified(void *ctx, const char *cn)
{
	struct peer *p = ctx;

	if (!p->known || strcmp(cn, p->host) != 0)
		return "its certificate belongs to another host";
	p->identified_at = clock_ms();
	return NULL;
}

static void link_on_closed(void *ctx, enum h2_end end, const char *why, const char *cn)
{
	static const enum peer_down down[] = {
		[H2_END_BROKEN] = PEER_BROKEN,
		[H2_END_REFUSED] = PEER_REFUSED,
		[H2_END_SILENT] = PEER_SILENT,
		[H2_END_GOODBYE] = PEER_ENDED,
	};
	struct peer *p = ctx;

	p->conn = NULL;
	p->greeting = false;
	link_down(p, down[end], why);
}

static void link_on_ready(void *ctx)
{
	struct peer *p = ctx;

	p->introduced = false;
	p->greeting = true;
	p->agent->net_ops->greet(p);
	clock_arm(p->timer, p->agent->config->heartbeat);
}

static const struct h2_conn_ops link_conn_ops = {
	.identified = link_on_identified,
	.ready = link_on_ready,
	.closed = link_on_closed,
};

/* 0 or -errno; an unreachable peer shows later, in link_on_closed(). */
static int link_connect(struct peer *p)
{
	int err;

	evtimer_del(p->timer);
	p->used_at = clock_ms();
	p->conn = h2_conn_connect(p->agent, &p->address, 3 * p->agent->config->heartbeat,
				  &link_conn_ops, p);
	if (p->conn)
		return 0;
	err = errno;
	snprintf(p->trouble, sizeof(p->trouble), "%s", strerror(err));
	if (p->pinned)
		clock_arm(p->timer, link_backoff(p));
	return -err;
}

/* The next connect, or the next PING. */
static void link_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct peer *p = arg;
	uint64_t now = clock_ms();

	if (!p->conn) {
		link_connect(p);
		return;
	}
	if (h2_stream_any(p->conn))
		p->used_at = now;
	if (!p->pinned && now - p->used_at >= p->agent->config->link_idle) {
		link_rest(p);
		return;
	}
	h2_conn_ping(p->conn);
	clock_arm(p->timer, p->agent->config->heartbeat);
}

struct h2_stream *link_open(struct peer *to, const char *method, const char *path,
			    const struct h2_stream_ops *ops, void *ctx)
{
	bool failed = to->down != PEER_UNLINKED && clock_ms() - to->failed_at < LINK_RETRY_MS;

	if (!to->known || !to->timer || (!to->conn && (failed || link_connect(to)))) {
		errno = ENOTCONN;
		return NULL;
	}
	to->used_at = clock_ms();
	return to->up ? h2_stream_open(to->conn, method, path, ops, ctx)
		      : h2_stream_open_later(to->conn, method, path, ops, ctx);
}

int link_request(struct peer *to, const char *path, json_t *body, unsigned int timeout_ms,
		 client_reply_fn done, void *ctx)
{
	struct client_call *call = client_call_new(to->agent, peer_host(to), body, done, ctx);

	if (!call)
		return -ENOMEM;
	client_call_begin(
		call, link_open(to, client_call_method(call), path, client_call_ops(call), call),
		timeout_ms);
	return 0;
}

/* ---- set-up ---- */

int link_init(struct peer *p)
{
	p->timer = evtimer_new(p->agent->base, link_on_timer, p);
	return p->timer ? 0 : -ENOMEM;
}

void link_pin(struct peer *p, bool on)
{
	p->pinned = on && !p->self;
	if (p->pinned && p->up)
		link_tell(p, true);
	link_update(p, NULL);
}

void link_update(struct peer *p, const char *why)
{
	if (p->conn && why)
		h2_conn_close(p->conn, H2_END_REFUSED, why);
	else if (!p->conn && p->pinned && p->known && !evtimer_pending(p->timer, NULL))
		clock_arm(p->timer, 0);
	else if (!p->conn && !(p->pinned && p->known))
		evtimer_del(p->timer);
}

void link_exit(struct peer *p)
{
	if (p->conn)
		h2_conn_free(p->conn);
	p->conn = NULL;
	event_free(p->timer);
	p->timer = NULL;
}
