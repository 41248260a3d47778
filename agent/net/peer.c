// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of the cluster's nodes. */

#include "net/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "base/agent.h"
#include "cluster/address.h"
#include "cluster/hierarchy.h"
#include "eh/topology.h"
#include "net/link.h"

static struct peer **peers;
static size_t peer_count;

static struct peer *peer_add(struct eh_code code)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	struct peer **more = realloc(peers, (peer_count + 1) * sizeof(*peers));
	struct peer *p;

	if (!more)
		return NULL;
	peers = more;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->code = code;
	p->self = code.index == the_agent.self.index;
	eh_code_format(&the_agent.config->topology, code, p->text);
	if (link_init(p)) {
		free(p);
		return NULL;
	}
	p->place = peer_count;
	peers[peer_count++] = p;
	return p;
}

/* Also peers that are not known now. */
static struct peer *peer_find(struct eh_code code)
{
	for (size_t i = 0; i < peer_count; i++)
		if (peers[i]->code.index == code.index && peers[i]->code.level == code.level)
			return peers[i];
	return NULL;
}

void peer_forget(struct peer *p, const char *why)
{
	p->known = false;
	json_decref(p->said);
	p->said = NULL;
	hierarchy_peer_known(p);
	link_update(p, why);
}

int peer_learn(struct eh_code code, const char *host, const struct address *address)
{
	struct peer *p = peer_find(code) ?: peer_add(code);

	if (!p)
		return -ENOMEM;
	if (p->known && (strcmp(p->host, host) || strcmp(p->address.text, address->text)))
		peer_forget(p, "its address or host changed");
	if (p->known)
		return 0;
	snprintf(p->host, sizeof(p->host), "%s", host);
	p->address = *address;
	p->boot_id[0] = p->users[0] = p->trouble[0] = '\0';
	p->down = PEER_UNLINKED;
	p->avoid_until = 0;
	p->known = true;
	link_update(p, NULL);
	hierarchy_peer_known(p);
	return 0;
}

void peer_exit(void)
{
	/* what the end of one link sets off may still look at another peer */
	for (size_t i = 0; i < peer_count; i++)
		link_exit(peers[i]);
	for (size_t i = 0; i < peer_count; i++) {
		json_decref(peers[i]->said);
		free(peers[i]);
	}
	free(peers);
	peers = NULL;
	peer_count = 0;
}

void peer_pin(struct peer *p, bool on)
{
	p->pinned = on && !p->self;
	link_update(p, NULL);
}

struct peer *peer_next(const struct peer *after)
{
	for (size_t i = after ? after->place + 1 : 0; i < peer_count; i++)
		if (peers[i]->known)
			return peers[i];
	return NULL;
}

struct peer *peer_by_code(struct eh_code code)
{
	struct peer *p = peer_find(code);

	return p && p->known ? p : NULL;
}

struct peer *peer_self(void)
{
	return peer_by_code(the_agent.self);
}

struct peer *peer_by_text(const char *text)
{
	struct eh_code code;

	if (eh_code_parse(&the_agent.config->topology, text, &code))
		return NULL;
	return peer_by_code(code);
}

struct peer *peer_by_host(const char *host)
{
	for (size_t i = 0; i < peer_count; i++)
		if (peers[i]->known && !strcmp(peers[i]->host, host))
			return peers[i];
	return NULL;
}
