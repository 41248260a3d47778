// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/quota.h"

#include <stdlib.h>
#include <string.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"

#define QUOTA_SAY_MS 10000 /* between lines of the log on one host */
#define QUOTA_KEPT 1024 /* hosts that were refused something and are not connected */

static const struct {
	const char *name, *why;
} quota_whats[QUOTA_WHATS] = {
	[QUOTA_STREAMS] = { "streams", "it has as many streams as peer-streams permits" },
	[QUOTA_MEMORY] = { "memory", "what is held for it is as large as peer-memory permits" },
	[QUOTA_REQUESTS] = { "requests", "too many of its requests are unanswered" },
	[QUOTA_BODIES] = { "bodies", "its unfinished bodies are too large in total" },
	[QUOTA_LATE] = { "late", "its body did not come in time" },
};

static uint64_t quota_refused(const struct quota_host *host)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < QUOTA_WHATS; i++)
		sum += host->refused[i];
	return sum;
}

const char *quota_refuse(struct quota_host *host, enum quota_what what)
{
	const char *why = quota_whats[what].why;
	const uint64_t now = clock_ms();
	uint64_t all;

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): what is in the list has a host */
	host->refused[what]++;
	host->refused_at = now;
	if (host->said_at && now - host->said_at < QUOTA_SAY_MS)
		return why;
	all = quota_refused(host);
	log_warning("%s: %llu requests refused since its last warning, %llu in all: %s", host->name,
		    (unsigned long long)(all - host->said), (unsigned long long)all, why);
	host->said = all;
	host->said_at = now;
	return why;
}

struct quota_host *quota_get(struct quota *quota, const char *name)
{
	struct quota_host *host;

	LIST_FOREACH(host, &quota->hosts, entry)
		if (!strcmp(host->name, name))
			break;
	if (!host) {
		host = calloc(1, sizeof(*host) + strlen(name) + 1);
		if (!host)
			return NULL;
		strcpy(host->name, name);
		host->agent = quota->agent;
		host->quota = quota;
		LIST_INSERT_HEAD(&quota->hosts, host, entry);
	} else if (!host->users) {
		quota->kept--;
	}
	host->users++;
	return host;
}

void quota_hold(struct quota_host *host)
{
	host->users++;
}

void quota_put(struct quota_host *host)
{
	if (!host || --host->users)
		return;
	if (host->entry.le_prev && host->refused_at && host->quota->kept < QUOTA_KEPT) {
		host->quota->kept++;
		return;
	}
	if (host->entry.le_prev)
		LIST_REMOVE(host, entry);
	free(host);
}

void quota_exit(struct quota *quota)
{
	struct quota_host *host;

	while ((host = LIST_FIRST(&quota->hosts))) {
		LIST_REMOVE(host, entry);
		host->entry.le_prev = NULL;
		if (!host->users)
			free(host);
	}
	quota->kept = 0;
}

bool quota_stream(struct quota_host *host)
{
	if (!host)
		return true;
	if (host->streams >= host->agent->config->peer_streams) {
		quota_refuse(host, QUOTA_STREAMS);
		return false;
	}
	host->streams++;
	return true;
}

void quota_stream_over(struct quota_host *host)
{
	if (host)
		host->streams--;
}

bool quota_take(struct quota_host *host, size_t bytes)
{
	if (!host)
		return true;
	if (host->held + bytes > (size_t)host->agent->config->peer_memory << 20) {
		quota_refuse(host, QUOTA_MEMORY);
		return false;
	}
	host->held += bytes;
	return true;
}

void quota_give(struct quota_host *host, size_t bytes)
{
	if (host)
		host->held -= bytes;
}

static json_t *quota_host_json(const struct quota_host *host)
{
	json_t *refused = json_object(), *one;

	for (unsigned int i = 0; i < QUOTA_WHATS; i++)
		json_object_set_new(refused, quota_whats[i].name,
				    json_integer((json_int_t)host->refused[i]));
	one = json_pack("{s:s,s:i,s:I,s:i,s:I,s:o}", "host", host->name, "streams",
			(int)host->streams, "memory", (json_int_t)host->held, "requests",
			(int)host->requests, "bodies", (json_int_t)host->bytes, "refused", refused);
	if (one && host->refused_at)
		json_object_set_new(
			one, "refused_seconds",
			json_integer((json_int_t)(clock_ms() - host->refused_at) / 1000));
	return one;
}

json_t *quota_json(const struct quota *quota)
{
	const struct config *c = quota->agent->config;
	const struct quota_host *h;
	json_t *peers = json_array();

	LIST_FOREACH(h, &quota->hosts, entry)
		if (h->refused_at || h->streams || h->held || h->requests || h->bytes)
			json_array_append_new(peers, quota_host_json(h));
	return json_pack("{s:i,s:I,s:o}", "streams", (int)c->peer_streams, "memory",
			 (json_int_t)c->peer_memory << 20, "peers", peers);
}
