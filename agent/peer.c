// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of the cluster's nodes. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "control.h"
#include "link.h"

static struct peer **peers;
static size_t peer_count;

static struct peer *peer_add(struct eh_code code)
{
	struct peer **more = realloc(peers, (peer_count + 1) * sizeof(*peers));
	struct peer *p;

	if (!more)
		return NULL;
	peers = more;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->code = code;
	p->self = code.index == agent.self.index;
	eh_code_format(&agent.config->topology, code, p->text);
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

static void peer_forget(struct peer *p, const char *why)
{
	if (!p->known)
		return;
	p->known = false;
	control_peer_known(p);
	link_update(p, why);
}

static void peer_free(struct peer *p)
{
	json_decref(p->said);
	free(p->host);
	free(p);
}

/* This is the node of that code now. 0 or -ENOMEM. */
static int peer_learn(struct eh_code code, const char *host, const struct address *address)
{
	struct peer *p = peer_find(code) ?: peer_add(code);
	char *copy = p ? strdup(host) : NULL;
	bool moved;

	if (!copy)
		return -ENOMEM;
	moved = p->host && (strcmp(p->host, host) || strcmp(p->address.text, address->text));
	free(p->host);
	p->host = copy;
	p->address = *address;
	p->known = true;
	link_update(p, moved ? "its address or host changed" : NULL);
	control_peer_known(p);
	return 0;
}

static int peer_take_config(void)
{
	for (size_t i = 0; i < agent.config->npeers; i++) {
		const struct config_peer *c = &agent.config->peers[i];
		int err = peer_learn(c->code, c->host, &c->address);

		if (err)
			return err;
	}
	return 0;
}

static bool peer_is_configured(const struct peer *p)
{
	for (size_t i = 0; i < agent.config->npeers; i++)
		if (agent.config->peers[i].code.index == p->code.index)
			return true;
	return false;
}

int peer_init(void)
{
	int err = peer_take_config();

	if (err)
		log_error("no memory for the peers");
	return err;
}

void peer_reload(void)
{
	for (size_t i = 0; i < peer_count; i++)
		if (!peer_is_configured(peers[i]))
			peer_forget(peers[i], "not in the configuration any more");
	if (peer_take_config())
		log_error("no memory for new peers: reload once more later");
}

void peer_exit(void)
{
	/* what the end of one link sets off may still look at another peer */
	for (size_t i = 0; i < peer_count; i++)
		link_exit(peers[i]);
	for (size_t i = 0; i < peer_count; i++)
		peer_free(peers[i]);
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
	return peer_by_code(agent.self);
}

struct peer *peer_by_text(const char *text)
{
	struct eh_code code;

	if (eh_code_parse(&agent.config->topology, text, &code))
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
