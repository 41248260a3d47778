// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "base/agent.h"
#include "base/log.h"
#include "cluster/address.h"
#include "eh/topology.h"
#include "net/link.h"
#include "net/ops.h"
#include "net/peer.h"

struct peers {
	struct peer **list;
	struct peer **by_code; /* the same */
	size_t count;
	struct log_limit failures; /* of links */
};

static uint64_t peers_key(struct eh_code code)
{
	return (uint64_t)code.level << 32 | code.index;
}

/* The place of a code in by_code, or where it would be. */
static size_t peers_find_place(const struct peers *peers, struct eh_code code)
{
	size_t low = 0, high = peers->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (peers_key(peers->by_code[middle]->code) < peers_key(code))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct peer *peers_add(struct agent *agent, struct eh_code code)
{
	struct peers *peers = agent->peers;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	struct peer **more = realloc(peers->list, (peers->count + 1) * sizeof(*more));
	struct peer *p;
	size_t at;

	if (!more)
		return NULL;
	peers->list = more;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): as above */
	more = realloc(peers->by_code, (peers->count + 1) * sizeof(*more));
	if (!more)
		return NULL;
	peers->by_code = more;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->agent = agent;
	p->failures = &peers->failures;
	p->code = code;
	p->self = code.index == agent->self.index;
	eh_code_format(&agent->config->topology, code, p->text);
	if (link_init(p)) {
		free(p);
		return NULL;
	}
	at = peers_find_place(peers, code);
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): as above */
	memmove(&more[at + 1], &more[at], (peers->count - at) * sizeof(*more));
	more[at] = p;
	p->place = peers->count;
	peers->list[peers->count++] = p;
	return p;
}

/* Also finds peers that are no longer known. */
static struct peer *peers_find(const struct agent *agent, struct eh_code code)
{
	const struct peers *peers = agent->peers;

	size_t at = peers_find_place(peers, code);

	if (at == peers->count || peers_key(peers->by_code[at]->code) != peers_key(code))
		return NULL;
	return peers->by_code[at];
}

void peers_forget(struct peer *p, const char *why)
{
	p->known = false;
	json_decref(p->said);
	p->said = NULL;
	p->agent->net_ops->known(p);
	link_update(p, why);
}

int peers_learn(struct agent *agent, struct eh_code code, const char *host,
		const struct address *address)
{
	struct peer *p = peers_find(agent, code) ?: peers_add(agent, code);

	if (!p)
		return -ENOMEM;
	if (p->known && (strcmp(p->host, host) || strcmp(p->address.text, address->text)))
		peers_forget(p, "its address or host name changed");
	if (p->known)
		return 0;
	if (strcmp(p->host, host))
		p->told = PEER_UNTOLD;
	snprintf(p->host, sizeof(p->host), "%s", host);
	p->address = *address;
	p->boot_id[0] = p->users[0] = p->trouble[0] = p->release[0] = '\0';
	p->speaks = (struct versions){ 0, 0 };
	p->protocol = 0;
	p->fit = VERSIONS_FIT;
	p->down = PEER_UNLINKED;
	p->avoid_until = 0;
	p->identified_at = p->watched_at = p->unseen_ms = 0;
	p->probed = p->alive = false;
	p->vain = 0;
	p->known = true;
	link_update(p, NULL);
	p->agent->net_ops->known(p);
	return 0;
}

int peers_init(struct agent *agent)
{
	agent->peers = calloc(1, sizeof(*agent->peers));
	return agent->peers ? 0 : -ENOMEM;
}

void peers_close(struct agent *agent)
{
	struct peers *peers = agent->peers;

	/* the callbacks of one link may still look at another peer */
	for (size_t i = 0; peers && i < peers->count; i++)
		link_exit(peers->list[i]);
}

void peers_exit(struct agent *agent)
{
	struct peers *peers = agent->peers;

	if (!peers)
		return;
	for (size_t i = 0; i < peers->count; i++) {
		json_decref(peers->list[i]->said);
		json_decref(peers->list[i]->labels);
		free(peers->list[i]);
	}
	free(peers->list);
	free(peers->by_code);
	free(peers);
	agent->peers = NULL;
}

struct peer *peers_next(const struct agent *agent, const struct peer *after)
{
	const struct peers *peers = agent->peers;

	for (size_t i = after ? after->place + 1 : 0; i < peers->count; i++)
		if (peers->list[i]->known)
			return peers->list[i];
	return NULL;
}

struct peer *peers_by_code(const struct agent *agent, struct eh_code code)
{
	struct peer *p = peers_find(agent, code);

	return p && p->known ? p : NULL;
}

struct peer *peers_self(const struct agent *agent)
{
	return peers_by_code(agent, agent->self);
}

struct peer *peers_by_text(const struct agent *agent, const char *text)
{
	struct eh_code code;

	if (eh_code_parse(&agent->config->topology, text, &code))
		return NULL;
	return peers_by_code(agent, code);
}

struct peer *peers_by_host(const struct agent *agent, const char *host)
{
	const struct peers *peers = agent->peers;

	for (size_t i = 0; i < peers->count; i++)
		if (peers->list[i]->known && !strcmp(peers->list[i]->host, host))
			return peers->list[i];
	return NULL;
}
