// SPDX-License-Identifier: GPL-2.0-or-later
/* The cluster's nodes and one warm connection to each. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/random.h>

#include "agent.h"
#include "clock.h"
#include "conn.h"
#include "control.h"
#include "log.h"
#include "server.h"

#define PEER_BACKOFF_MIN 100 /* ms */
#define PEER_BACKOFF_MAX 5000

static struct peer **peers;
static size_t peer_count;
static struct log_limit peer_log;
static bool peer_ending;

static void peer_schedule(struct peer *p, unsigned int ms)
{
	const struct timeval in = { ms / 1000, ms % 1000 * 1000 };

	evtimer_add(p->timer, &in);
}

/* Exponential, and random so that a restarted node is not met by all at once. */
static unsigned int peer_backoff(struct peer *p)
{
	unsigned int random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = getpid();
	p->backoff_ms = p->backoff_ms ? p->backoff_ms * 2 : PEER_BACKOFF_MIN;
	if (p->backoff_ms > PEER_BACKOFF_MAX)
		p->backoff_ms = PEER_BACKOFF_MAX;
	return p->backoff_ms / 2 + random % (p->backoff_ms / 2 + 1);
}

static void peer_set_up(struct peer *p, bool up)
{
	if (p->up == up)
		return;
	p->up = up;
	if (up) {
		p->backoff_ms = 0;
		p->avoid_until = 0;
		p->avoid_ms = 0;
		p->trouble[0] = '\0';
	}
	if (peer_ending)
		return;
	if (!p->self)
		log_info("%s (%s) is %s%s%s", p->text, peer_host(p), up ? "up" : "down",
			 up ? "" : ": ", up ? "" : p->trouble);
	api_event("peer", json_pack("{s:s,s:s,s:s}", "node", p->text, "host", peer_host(p), "agent",
				    up ? "up" : "down"));
	control_peer_changed(p);
}

static void peer_refused(struct peer *p, const char *why)
{
	bool news = strcmp(p->trouble, why);

	snprintf(p->trouble, sizeof(p->trouble), "%s", why);
	if (news && !p->up && log_allowed(&peer_log))
		log_warning("no connection to %s (%s, %s): %s", p->text, peer_host(p),
			    p->config ? p->config->address_text : "?", why);
}

static void peer_on_hello(void *ctx, int status, const json_t *reply)
{
	const char *cluster = json_string_value(json_object_get(reply, "cluster"));
	const char *node = json_string_value(json_object_get(reply, "node"));
	const char *boot = json_string_value(json_object_get(reply, "boot_id"));
	struct peer *p = ctx;

	if (!p->conn)
		return;
	if (status != 200) {
		h2_conn_close(
			p->conn,
			status == 403
				? "it refuses us: other cluster name, or node code than our certificate's"
				: "it did not answer our hello");
		return;
	}
	if (!cluster || strcmp(cluster, agent.config->cluster) || !node || strcmp(node, p->text)) {
		h2_conn_close(p->conn, "it is of another cluster, or another node");
		return;
	}
	p->capacity = json_integer_value(json_object_get(reply, "capacity"));
	p->skew_ms = json_integer_value(json_object_get(reply, "time")) - clock_wall_ms();
	snprintf(p->users, sizeof(p->users), "%s",
		 json_string_value(json_object_get(reply, "users")) ?: "");
	snprintf(p->boot_id, sizeof(p->boot_id), "%s", boot ?: "");
	peer_set_up(p, true);
}

static const char *peer_on_identified(void *ctx, const char *cn)
{
	struct peer *p = ctx;

	if (!p->config || strcmp(cn, p->config->host))
		return "its certificate is another host's";
	return NULL;
}

static void peer_on_closed(void *ctx, const char *why, const char *cn)
{
	struct peer *p = ctx;

	p->conn = NULL;
	peer_refused(p, why);
	peer_set_up(p, false);
	if (p->config && !peer_ending)
		peer_schedule(p, peer_backoff(p));
}

static void peer_on_ready(void *ctx)
{
	struct peer *p = ctx;

	if (h2_request(p, "/v1/hello", server_hello(), 3 * agent.config->heartbeat, peer_on_hello,
		       p))
		h2_conn_close(p->conn, "no memory");
	peer_schedule(p, agent.config->heartbeat);
}

static const struct h2_conn_ops peer_conn_ops = {
	.identified = peer_on_identified,
	.ready = peer_on_ready,
	.closed = peer_on_closed,
};

static void peer_connect(struct peer *p)
{
	p->conn = h2_conn_connect(p->config, 3 * agent.config->heartbeat, &peer_conn_ops, p);
	if (p->conn)
		return;
	peer_refused(p, strerror(errno));
	peer_schedule(p, peer_backoff(p));
}

/* The next connect, or the next PING. */
static void peer_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct peer *p = arg;

	if (!p->config)
		return;
	if (!p->conn) {
		peer_connect(p);
		return;
	}
	h2_conn_ping(p->conn);
	peer_schedule(p, agent.config->heartbeat);
}

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
	p->timer = evtimer_new(agent.base, peer_on_timer, p);
	if (!p->timer) {
		free(p);
		return NULL;
	}
	p->code = code;
	p->self = code.index == agent.self.index;
	eh_code_format(&agent.config->topology, code, p->text);
	p->place = peer_count;
	peers[peer_count++] = p;
	return p;
}

/* Also peers that are not configured now. */
static struct peer *peer_find(struct eh_code code)
{
	for (size_t i = 0; i < peer_count; i++)
		if (peers[i]->code.index == code.index && peers[i]->code.level == code.level)
			return peers[i];
	return NULL;
}

static int peer_take_config(void)
{
	for (size_t i = 0; i < agent.config->npeers; i++) {
		const struct config_peer *c = &agent.config->peers[i];
		struct peer *p = peer_find(c->code) ?: peer_add(c->code);

		if (!p)
			return -ENOMEM;
		p->config = c;
		if (!p->conn && !evtimer_pending(p->timer, NULL))
			peer_schedule(p, 0);
	}
	return 0;
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
	/* the old configuration is still there; links to peers that did not move stay */
	for (size_t i = 0; i < peer_count; i++) {
		struct peer *p = peers[i];
		const struct config_peer *old = p->config, *now = NULL;

		for (size_t j = 0; j < agent.config->npeers; j++)
			if (agent.config->peers[j].code.index == p->code.index)
				now = &agent.config->peers[j];
		p->config = now;
		if (now && old && !strcmp(now->host, old->host) &&
		    !strcmp(now->address_text, old->address_text))
			continue;
		if (!now)
			evtimer_del(p->timer);
		if (p->conn)
			h2_conn_close(p->conn, now ? "its address or host changed"
						   : "not in the configuration any more");
	}
	if (peer_take_config())
		log_error("no memory for new peers: reload once more later");
}

void peer_exit(void)
{
	peer_ending = true;
	for (size_t i = 0; i < peer_count; i++) {
		struct peer *p = peers[i];

		if (p->conn)
			h2_conn_free(p->conn);
		event_free(p->timer);
		free(p);
	}
	free(peers);
	peers = NULL;
	peer_count = 0;
}

struct peer *peer_next(const struct peer *after)
{
	for (size_t i = after ? after->place + 1 : 0; i < peer_count; i++)
		if (peers[i]->config)
			return peers[i];
	return NULL;
}

struct peer *peer_by_code(struct eh_code code)
{
	struct peer *p = peer_find(code);

	return p && p->config ? p : NULL;
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
		if (peers[i]->config && !strcmp(peers[i]->config->host, host))
			return peers[i];
	return NULL;
}
