// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <jansson.h>

#include "base/agent.h"
#include "base/log.h"
#include "cluster/address.h"
#include "cluster/name.h"
#include "eh/topology.h"
#include "net/link.h"
#include "net/ops.h"
#include "net/peer.h"

struct peers {
	struct peer **list;
	size_t count;
	struct log_limit failures; /* of links */
};

static struct peer *peers_add(struct agent *agent, struct eh_code code)
{
	struct peers *peers = agent->peers;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	struct peer **more = realloc(peers->list, (peers->count + 1) * sizeof(*more));
	struct peer *p;

	if (!more)
		return NULL;
	peers->list = more;
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
	p->place = peers->count;
	peers->list[peers->count++] = p;
	return p;
}

/* Also finds peers that are no longer known. */
static struct peer *peers_find(const struct agent *agent, struct eh_code code)
{
	const struct peers *peers = agent->peers;

	for (size_t i = 0; i < peers->count; i++)
		if (peers->list[i]->code.index == code.index &&
		    peers->list[i]->code.level == code.level)
			return peers->list[i];
	return NULL;
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
	snprintf(p->host, sizeof(p->host), "%s", host);
	p->address = *address;
	p->boot_id[0] = p->users[0] = p->trouble[0] = '\0';
	p->down = PEER_UNLINKED;
	p->avoid_until = 0;
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
		free(peers->list[i]);
	}
	free(peers->list);
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

struct peer *peers_by_name(const struct agent *agent, const char *name)
{
	struct peer *p = peers_by_text(agent, name), *found = NULL;
	bool several = false;

	if (p)
		return p;
	if (!strcasecmp(name, "localhost"))
		return peers_self(agent);
	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p)) {
		const enum name_fit fit = name_fits(name, p->host, &p->address);

		if (fit == NAME_FULL)
			return p;
		if (fit != NAME_SHORT)
			continue;
		several |= found != NULL;
		found = p;
	}
	return several ? NULL : found;
}
