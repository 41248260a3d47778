/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file quota.h
 * What one other host may hold of this agent, on all its connections together: streams of jobs and
 * files (`peer-streams`), and bytes that wait for somebody (`peer-memory`). request_body.h counts its
 * requests here, too. A host that was refused something stays known when its connections have ended:
 * what operators see does not go back.
 */
#ifndef AGENT_NET_QUOTA_H
#define AGENT_NET_QUOTA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct agent;
struct quota;

/** What was refused. */
enum quota_what {
	QUOTA_STREAMS, /**< a stream more than `peer-streams` */
	QUOTA_MEMORY, /**< bytes beyond `peer-memory` */
	QUOTA_REQUESTS, /**< a request while too many are not answered */
	QUOTA_BODIES, /**< bytes of unfinished bodies */
	QUOTA_LATE, /**< a body that did not come in time */
	QUOTA_WHATS,
};

struct quota_host {
	LIST_ENTRY(quota_host) entry; /* le_prev NULL: the server has ended */
	const struct agent *agent;
	struct quota *quota; /* until then */
	unsigned int users, streams;
	size_t held; /* bytes, of `peer-memory` */
	unsigned int requests; /* of request_body.h */
	size_t bytes; /* likewise: of unfinished bodies */
	uint64_t refused[QUOTA_WHATS], refused_at; /* how often; when (ms, monotonic), 0: never */
	uint64_t said, said_at; /* of these in the log; when, 0: never */
	char name[];
};

struct quota {
	const struct agent *agent;
	LIST_HEAD(, quota_host) hosts;
	unsigned int kept; /* of these, without a user */
};

/** The host with this name; each call needs a quota_put(). NULL: no memory. */
struct quota_host *quota_get(struct quota *quota, const char *name);
void quota_hold(struct quota_host *host); /**< once more; it needs a quota_put(), too */
void quota_put(struct quota_host *host); /**< or NULL */
/** Holders of a host may keep it. */
void quota_exit(struct quota *quota);

/** Counts what was refused, and says so in the log now and then. Returns why, for the other side. */
const char *quota_refuse(struct quota_host *host, enum quota_what what);
/** Limits, and each host that holds something or was refused something: docs/protocol.md, `status`,
 *  without codes. NULL: no memory. */
json_t *quota_json(const struct quota *quota);

/** One stream more; false: it has too many (logged). NULL counts nothing. */
bool quota_stream(struct quota_host *host);
void quota_stream_over(struct quota_host *host);
/** So many bytes more; false: it has too many (logged). NULL counts nothing. */
bool quota_take(struct quota_host *host, size_t bytes);
void quota_give(struct quota_host *host, size_t bytes);

#endif
