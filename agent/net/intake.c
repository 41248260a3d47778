// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/intake.h"

#include <errno.h>

#include "base/clock.h"
#include "net/quota.h"

static void intake_schedule(struct intake *intake)
{
	const struct intake_body *first = TAILQ_FIRST(&intake->bodies);
	uint64_t now = clock_ms();

	if (!first || evtimer_pending(intake->timer, NULL))
		return;
	clock_arm(intake->timer, first->until > now ? first->until - now : 0);
}

static void intake_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct intake *intake = arg;
	struct intake_body *body;

	while ((body = TAILQ_FIRST(&intake->bodies)) && body->until <= clock_ms()) {
		quota_refuse(body->host, QUOTA_LATE);
		intake_end(body);
		body->late(body->ctx);
	}
	intake_schedule(intake);
}

int intake_init(struct intake *intake, struct event_base *base)
{
	intake->timer = evtimer_new(base, intake_on_timer, intake);
	TAILQ_INIT(&intake->bodies);
	return intake->timer ? 0 : -ENOMEM;
}

void intake_exit(struct intake *intake)
{
	event_free(intake->timer);
}

const char *intake_begin(struct intake *intake, struct quota_host *host, struct intake_body *body)
{
	if (host->requests >= INTAKE_REQUESTS)
		return quota_refuse(host, QUOTA_REQUESTS);
	quota_hold(host);
	host->requests++;
	body->host = host;
	body->until = clock_ms() + INTAKE_MS;
	TAILQ_INSERT_TAIL(&intake->bodies, body, entry);
	body->intake = intake;
	intake_schedule(intake);
	return NULL;
}

const char *intake_add(struct intake_body *body, size_t bytes)
{
	if (body->host->bytes + bytes > INTAKE_BYTES)
		return quota_refuse(body->host, QUOTA_BODIES);
	body->host->bytes += bytes;
	body->bytes += bytes;
	return NULL;
}

void intake_read(struct intake_body *body)
{
	if (!body->entry.tqe_prev)
		return;
	TAILQ_REMOVE(&body->intake->bodies, body, entry);
	body->entry.tqe_prev = NULL;
	body->host->bytes -= body->bytes;
	body->bytes = 0;
}

void intake_end(struct intake_body *body)
{
	struct quota_host *host = body->host;

	if (!host)
		return;
	intake_read(body);
	body->host = NULL;
	host->requests--;
	quota_put(host);
}
