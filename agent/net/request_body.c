// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/request_body.h"

#include <errno.h>

#include "base/clock.h"
#include "net/quota.h"

static void request_bodies_schedule(struct request_bodies *all)
{
	const struct request_body *first = TAILQ_FIRST(&all->bodies);
	uint64_t now = clock_ms();

	if (!first || evtimer_pending(all->timer, NULL))
		return;
	clock_arm(all->timer, first->until > now ? first->until - now : 0);
}

static void request_bodies_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct request_bodies *all = arg;
	struct request_body *body;

	while ((body = TAILQ_FIRST(&all->bodies)) && body->until <= clock_ms()) {
		quota_refuse(body->host, QUOTA_LATE);
		request_body_end(body);
		body->late(body->ctx);
	}
	request_bodies_schedule(all);
}

int request_bodies_init(struct request_bodies *all, struct event_base *base)
{
	all->timer = evtimer_new(base, request_bodies_on_timer, all);
	TAILQ_INIT(&all->bodies);
	return all->timer ? 0 : -ENOMEM;
}

void request_bodies_exit(struct request_bodies *all)
{
	event_free(all->timer);
}

const char *request_body_begin(struct request_bodies *all, struct quota_host *host,
			       struct request_body *body)
{
	if (host->requests >= REQUEST_BODY_REQUESTS)
		return quota_refuse(host, QUOTA_REQUESTS);
	quota_hold(host);
	host->requests++;
	body->host = host;
	body->until = clock_ms() + REQUEST_BODY_MS;
	TAILQ_INSERT_TAIL(&all->bodies, body, entry);
	body->all = all;
	request_bodies_schedule(all);
	return NULL;
}

const char *request_body_add(struct request_body *body, size_t bytes)
{
	if (body->host->bytes + bytes > REQUEST_BODY_BYTES)
		return quota_refuse(body->host, QUOTA_BODIES);
	body->host->bytes += bytes;
	body->bytes += bytes;
	return NULL;
}

void request_body_read(struct request_body *body)
{
	if (!body->entry.tqe_prev)
		return;
	TAILQ_REMOVE(&body->all->bodies, body, entry);
	body->entry.tqe_prev = NULL;
	body->host->bytes -= body->bytes;
	body->bytes = 0;
}

void request_body_end(struct request_body *body)
{
	struct quota_host *host = body->host;

	if (!host)
		return;
	request_body_read(body);
	body->host = NULL;
	host->requests--;
	quota_put(host);
}
