// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

#define INTAKE_SAY_MS 10000 /* between lines of the log on one host */

struct intake_host {
	struct intake_host *next, **prev; /* prev NULL: the server has ended */
	unsigned int users, requests;
	size_t bytes;
	uint64_t refused, said, said_at; /* requests; of these in the log; when, 0: never */
	char name[];
};

static void intake_schedule(struct intake *intake)
{
	uint64_t now = clock_ms(), ms;
	struct timeval in;

	if (!intake->first || evtimer_pending(intake->timer, NULL))
		return;
	ms = intake->first->until > now ? intake->first->until - now : 0;
	in = (struct timeval){ ms / 1000, ms % 1000 * 1000 };
	evtimer_add(intake->timer, &in);
}

static const char *intake_refuse(struct intake_host *host, const char *why)
{
	const uint64_t now = clock_ms();

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): what is in the list has a host */
	host->refused++;
	if (host->said_at && now - host->said_at < INTAKE_SAY_MS)
		return why;
	log_warning("%s: %llu requests refused since its last warning, %llu in all: %s", host->name,
		    (unsigned long long)(host->refused - host->said),
		    (unsigned long long)host->refused, why);
	host->said = host->refused;
	host->said_at = now;
	return why;
}

static void intake_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct intake *intake = arg;
	struct intake_body *body;

	while ((body = intake->first) && body->until <= clock_ms()) {
		intake_refuse(body->host, "its body did not come in time");
		intake_end(body);
		body->late(body->ctx);
	}
	intake_schedule(intake);
}

int intake_init(struct intake *intake, struct event_base *base)
{
	intake->timer = evtimer_new(base, intake_on_timer, intake);
	intake->last = &intake->first;
	return intake->timer ? 0 : -ENOMEM;
}

void intake_exit(struct intake *intake)
{
	struct intake_host *host;

	event_free(intake->timer);
	while ((host = intake->hosts)) {
		intake->hosts = host->next;
		host->prev = NULL;
	}
}

struct intake_host *intake_get(struct intake *intake, const char *name)
{
	struct intake_host *host;

	for (host = intake->hosts; host; host = host->next)
		if (!strcmp(host->name, name))
			break;
	if (!host) {
		host = calloc(1, sizeof(*host) + strlen(name) + 1);
		if (!host)
			return NULL;
		strcpy(host->name, name);
		host->next = intake->hosts;
		host->prev = &intake->hosts;
		if (host->next)
			host->next->prev = &host->next;
		intake->hosts = host;
	}
	host->users++;
	return host;
}

void intake_put(struct intake_host *host)
{
	if (!host || --host->users)
		return;
	if (host->prev) {
		if (host->next)
			host->next->prev = host->prev;
		*host->prev = host->next;
	}
	free(host);
}

const char *intake_begin(struct intake *intake, struct intake_host *host, struct intake_body *body)
{
	if (host->requests >= INTAKE_REQUESTS)
		return intake_refuse(host, "too many are not answered yet");
	host->users++;
	host->requests++;
	body->host = host;
	body->until = clock_ms() + INTAKE_MS;
	body->next = NULL;
	body->prev = intake->last;
	*intake->last = body;
	intake->last = &body->next;
	body->intake = intake;
	intake_schedule(intake);
	return NULL;
}

const char *intake_add(struct intake_body *body, size_t bytes)
{
	if (body->host->bytes + bytes > INTAKE_BYTES)
		return intake_refuse(body->host, "its unfinished bodies are too large together");
	body->host->bytes += bytes;
	body->bytes += bytes;
	return NULL;
}

void intake_read(struct intake_body *body)
{
	if (!body->prev)
		return;
	if (body->next)
		body->next->prev = body->prev;
	else
		body->intake->last = body->prev;
	*body->prev = body->next;
	body->prev = NULL;
	body->host->bytes -= body->bytes;
	body->bytes = 0;
}

void intake_end(struct intake_body *body)
{
	struct intake_host *host = body->host;

	if (!host)
		return;
	intake_read(body);
	body->host = NULL;
	host->requests--;
	intake_put(host);
}
