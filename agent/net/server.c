// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <time.h>
#include <event2/listener.h>
#include <jansson.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/pause.h"
#include "cert/token.h"
#include "cluster/address.h"
#include "net/h2_conn.h"
#include "net/h2_stream.h"
#include "net/request_body.h"
#include "net/ops.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/quota.h"
#include "net/sources.h"
#include "net/strangers.h"

#define SERVER_CONNS_MAX 1280 /* a group has at most 1024 nodes */
#define SERVER_STRANGER_MS 30000 /* until a host is known; it may have to join first */
#define SERVER_SHAKE_MS 10000 /* the handshake, all of it; longer where heartbeats are slow */
#define SERVER_CONNS_A_PEER 4
#define SERVER_WAITING 1024 /* connections that wait to be accepted */
#define SERVER_REST_MS 10 /* while no more of them come than there is room */

struct server_conn {
	struct agent *agent;
	LIST_ENTRY(server_conn) entry;
	struct h2_conn *h2;
	struct peer *peer; /* NULL: not identified, or not in the roster; then it is a stranger */
	struct stranger stranger;
	struct server_visit *visit; /* it asked to be admitted; NULL: not, or it was answered */
	bool visited; /* it was answered */
	struct quota_host *host; /* NULL: not identified */
	bool hello; /* it belongs to this cluster */
	char cn[256]; /* "": not identified yet */
	struct address address;
};

/* A host that asked to be admitted; the answer may come when it has gone. */
struct server_visit {
	struct server_conn *conn; /* NULL: it is gone */
};

struct server {
	struct evconnlistener *listener;
	struct pause pause;
	struct event *rest; /* connections were turned away: active when all are accepted */
	const struct server_route *routes;
	LIST_HEAD(, server_conn) conns; /* the latest first */
	struct strangers strangers;
	struct sources sources;
	struct request_bodies bodies;
	struct quota quota;
	unsigned int count;
	struct log_limit refusals;
};

/* ---- the caller ---- */

static void server_know(struct server_conn *conn, struct peer *peer);

static int server_greet(void *ctx, const json_t *body, json_t **reply)
{
	struct server_conn *conn = ctx;
	const struct net_caller caller = { conn->cn, conn->address.text, conn->peer };
	struct peer *from = NULL;
	int status = conn->agent->net_ops->greeted(conn->agent, &caller, body, &from, reply);

	if (from && !conn->peer)
		server_know(conn, from);
	conn->hello = status == 200;
	return status;
}

/* ---- connections ---- */

static void server_begin(struct server_conn *conn, struct h2_stream *s,
			 const struct server_route *route)
{
	const struct server_call call = {
		.agent = conn->agent,
		.route = route,
		.peer = conn->peer,
		.host = conn->cn,
		.greet = server_greet,
		.ctx = conn,
	};

	if (server_answer_begin(&call, s, &conn->agent->server->bodies, conn->host))
		h2_stream_respond(s, 503, NULL);
}

static void server_take_stream(struct server_conn *conn, struct h2_stream *s,
			       const struct server_route *route)
{
	const struct h2_stream_ops *ops = NULL;
	void *ctx = NULL;
	int status = 503;

	if (h2_stream_count(s))
		status = route->stream(conn->agent, conn->peer, s, &ops, &ctx);
	if (!status)
		h2_stream_accept(s, ops, ctx);
	if (h2_stream_respond(s, status ?: 200, "application/octet-stream"))
		log_error("out of memory for a response to %s", peer_code(conn->peer));
}

static void server_on_request(void *ctx, struct h2_stream *s, const char *method, const char *path)
{
	struct server_conn *conn = ctx;
	const struct server_route *route;
	int status = 404;

	if (!strcmp(path, "/v1/hello")) {
		if (strcmp(method, "POST"))
			h2_stream_respond(s, 405, NULL);
		else
			server_begin(conn, s, NULL);
		return;
	}
	for (route = conn->agent->server->routes; route->method; route++) {
		if ((!conn->hello && !route->open) || strcmp(path, route->path))
			continue;
		if (strcmp(method, route->method)) {
			status = 405;
			continue;
		}
		if (route->stream)
			server_take_stream(conn, s, route);
		else
			server_begin(conn, s, route);
		return;
	}
	h2_stream_respond(s, conn->hello ? status : 403, NULL);
}

static void server_drop_oldest(struct server *server, const struct peer *peer)
{
	struct server_conn *conn, *oldest = NULL;
	unsigned int n = 0;

	LIST_FOREACH(conn, &server->conns, entry) {
		if (conn->peer != peer)
			continue;
		n++;
		oldest = conn;
	}
	if (n > SERVER_CONNS_A_PEER)
		h2_conn_close(oldest->h2, H2_END_REFUSED, "too many connections from this peer");
}

static void server_drop_stranger(void *ctx, const char *why)
{
	struct server_conn *conn = ctx;

	h2_conn_close(conn->h2, H2_END_REFUSED, why);
}

/* For this long, from now. */
static int server_be_stranger(struct server_conn *conn, unsigned int ms)
{
	strangers_remove(&conn->stranger);
	conn->stranger.from = &conn->address;
	conn->stranger.drop = server_drop_stranger;
	conn->stranger.ctx = conn;
	return strangers_add(&conn->agent->server->strangers, &conn->stranger, conn->agent->base,
			     ms);
}

static void server_know(struct server_conn *conn, struct peer *peer)
{
	conn->peer = peer;
	peer->identified_at = clock_ms();
	strangers_remove(&conn->stranger);
	server_drop_oldest(conn->agent->server, peer);
}

static const char *server_on_identified(void *ctx, const char *cn)
{
	struct server_conn *conn = ctx;
	struct peer *peer = peers_by_host(conn->agent, cn);

	/* a host that is not in the roster may join, and counts as a stranger */
	snprintf(conn->cn, sizeof(conn->cn), "%s", cn);
	conn->host = quota_get(&conn->agent->server->quota, conn->cn);
	if (!conn->host)
		return "out of memory";
	h2_conn_count(conn->h2, conn->host);
	if (peer)
		server_know(conn, peer);
	else if (server_be_stranger(conn, SERVER_STRANGER_MS))
		return "out of memory";
	return NULL;
}

static void server_on_admitted(void *ctx, json_t *answer)
{
	struct server_visit *visit = ctx;
	struct server_conn *conn = visit->conn;
	char *text = NULL;

	free(visit);
	if (conn) {
		if (answer && !json_object_set_new(answer, "version", json_integer(1)))
			text = json_dumps(answer, JSON_COMPACT);
		conn->visit = NULL;
		conn->visited = true;
		h2_conn_answer(conn->h2, text ?: "{}");
		h2_conn_answer(conn->h2, "\n");
	}
	free(text);
	json_decref(answer);
}

static void server_on_visited(void *ctx, struct evbuffer *said)
{
	struct server_conn *conn = ctx;
	struct agent *agent = conn->agent;
	size_t length;
	char *line;

	if (conn->visit)
		return;
	line = evbuffer_readln(said, &length, EVBUFFER_EOL_LF);
	if (!line && evbuffer_get_length(said) > TOKEN_REQUEST_MAX) {
		h2_conn_close(conn->h2, H2_END_REFUSED, "its request to be admitted is too large");
		return;
	}
	if (!line)
		return;
	conn->visit = malloc(sizeof(*conn->visit));
	if (conn->visit) {
		conn->visit->conn = conn;
		agent->net_ops->visit(agent, conn->address.text, line, length, server_on_admitted,
				      conn->visit);
	} else {
		h2_conn_close(conn->h2, H2_END_REFUSED, "out of memory");
	}
	free(line);
}

static void server_unlink(struct server_conn *conn)
{
	struct server *server = conn->agent->server;

	if (conn->visit)
		conn->visit->conn = NULL;
	strangers_remove(&conn->stranger);
	quota_put(conn->host);
	server->count--;
	LIST_REMOVE(conn, entry);
	free(conn);
}

static void server_on_closed(void *ctx, enum h2_end end, const char *why, const char *cn)
{
	struct server_conn *conn = ctx;

	if (conn->visited) {
		log_debug("%s was answered", conn->address.text);
	} else if (!*conn->cn) {
		if (log_allowed(&conn->agent->server->refusals))
			log_warning("refused %s (CN %s): %s", conn->address.text,
				    *cn ? cn : "unknown", why);
	} else if (conn->peer) {
		log_debug("connection from %s (%s) ended: %s", peer_code(conn->peer),
			  conn->address.text, why);
	}
	server_unlink(conn);
}

static const struct h2_conn_ops server_conn_ops = {
	.identified = server_on_identified,
	.visited = server_on_visited,
	.request = server_on_request,
	.closed = server_on_closed,
};

/* Before anything else is done: a handshake is what costs. */
static bool server_refuses(struct server *server, const struct sockaddr *sa, socklen_t length)
{
	struct address from;

	memcpy(&from.sa, sa, length);
	if (sources_take(&server->sources, address_source(&from), clock_ms()))
		return false;
	if (log_allowed(&server->refusals)) {
		address_from(sa, &from);
		log_warning(
			"closed a connection from %s: too many come from there, or from all that are "
			"no members",
			from.text);
	}
	return true;
}

/*
 * When it has accepted all that have come, the listener rests: a wakeup for each costs as much as all else
 * that is done for it, and a flood brings ten thousand in a second.
 */
static void server_turn_away(struct server *server, evutil_socket_t fd)
{
	const struct linger at_once = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	evutil_closesocket(fd);
	event_active(server->rest, EV_READ, 0);
}

static void server_on_rest(evutil_socket_t fd, short what, void *arg)
{
	struct server *server = arg;

	if (pause_rest(&server->pause, SERVER_REST_MS))
		evconnlistener_disable(server->listener);
}

static void server_on_accept(struct evconnlistener *listener, evutil_socket_t fd,
			     struct sockaddr *sa, int length, void *arg)
{
	struct agent *agent = arg;
	const unsigned int silence = 3 * agent->config->heartbeat;
	struct server *server = agent->server;
	struct server_conn *conn;

	pause_over(&server->pause);
	if (server_refuses(server, sa, length)) {
		server_turn_away(server, fd);
		return;
	}
	if (server->count >= SERVER_CONNS_MAX) {
		if (log_allowed(&server->refusals))
			log_warning("closed a connection: too many are open");
		evutil_closesocket(fd);
		return;
	}
	conn = calloc(1, sizeof(*conn));
	if (!conn) {
		evutil_closesocket(fd);
		return;
	}
	conn->agent = agent;
	address_from(sa, &conn->address);
	conn->h2 = h2_conn_accepted(agent, fd, silence, &server_conn_ops, conn);
	if (!conn->h2) {
		free(conn);
		return;
	}
	if (server_be_stranger(conn, silence > SERVER_SHAKE_MS ? silence : SERVER_SHAKE_MS)) {
		h2_conn_free(conn->h2);
		free(conn);
		return;
	}
	LIST_INSERT_HEAD(&server->conns, conn, entry);
	server->count++;
}

static void server_go_on(void *ctx)
{
	evconnlistener_enable(((struct server *)ctx)->listener);
}

static void server_on_accept_error(struct evconnlistener *listener, void *arg)
{
	struct agent *agent = arg;

	if (pause_begin(&agent->server->pause, errno, agent->config->address.text))
		evconnlistener_disable(listener);
}

/* Where members listen is where they come from. Without memory it is as before. */
static void server_set_sources(struct agent *agent)
{
	struct sources_bucket *all;
	size_t n = 0;

	for (struct peer *p = peers_next(agent, NULL); p; p = peers_next(agent, p))
		n++;
	all = calloc(n + 1, sizeof(*all));
	if (!all)
		return;
	n = 0;
	for (struct peer *p = peers_next(agent, NULL); p; p = peers_next(agent, p))
		all[n++].key = address_source(&p->address);
	sources_set_members(&agent->server->sources, all, n);
}

int server_init(struct agent *agent, const struct server_route *routes)
{
	const struct address *own = &agent->config->address;
	struct server *server = calloc(1, sizeof(*server));
	uint64_t secret;
	int err = -ENOMEM;

	if (!server)
		return -ENOMEM;
	if (getrandom(&secret, sizeof(secret), GRND_NONBLOCK) != sizeof(secret))
		secret = clock_us();
	sources_init(&server->sources, secret);
	server->routes = routes;
	server->quota.agent = agent;
	if (pause_init(&server->pause, agent->base, server_go_on, server))
		goto free_server;
	server->rest = event_new(agent->base, -1, 0, server_on_rest, server);
	if (!server->rest)
		goto exit_pause;
	if (request_bodies_init(&server->bodies, agent->base))
		goto free_rest;
	server->listener = evconnlistener_new_bind(
		agent->base, server_on_accept, agent,
		LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE, SERVER_WAITING,
		(const struct sockaddr *)&own->sa, own->length);
	if (!server->listener) {
		err = -errno;
		log_error("cannot listen on %s: %s; check that no other agent runs and that the "
			  "address belongs to this node",
			  own->text, strerror(-err));
		goto exit_bodies;
	}
	evconnlistener_set_error_cb(server->listener, server_on_accept_error);
	agent->server = server;
	server_set_sources(agent);
	return 0;

exit_bodies:
	request_bodies_exit(&server->bodies);
free_rest:
	event_free(server->rest);
exit_pause:
	pause_exit(&server->pause);
free_server:
	free(server);
	return err;
}

void server_reload(struct agent *agent)
{
	struct server *server = agent->server;
	struct server_conn *conn;

	if (!server)
		return;
	server_set_sources(agent);
	LIST_FOREACH(conn, &server->conns, entry) {
		if (!conn->peer || (conn->peer->known && !strcmp(conn->peer->host, conn->cn)))
			continue;
		/* not closed: the answer that lets it leave may still be on its way */
		conn->peer = NULL;
		conn->hello = false;
		if (server_be_stranger(conn, SERVER_STRANGER_MS))
			h2_conn_close(conn->h2, H2_END_REFUSED, "out of memory");
	}
}

bool server_hears(const struct agent *agent, const struct peer *peer)
{
	const struct server_conn *conn;

	if (!agent->server)
		return false;
	LIST_FOREACH(conn, &agent->server->conns, entry)
		if (conn->peer == peer)
			return true;
	return false;
}

json_t *server_quotas(const struct agent *agent)
{
	json_t *quotas = agent->server ? quota_json(&agent->server->quota) : NULL, *one;
	const struct peer *peer;
	size_t i;

	json_array_foreach(json_object_get(quotas, "peers"), i, one) {
		peer = peers_by_host(agent, json_string_value(json_object_get(one, "host")) ?: "");
		if (peer)
			json_object_set_new(one, "node", json_string(peer_code(peer)));
	}
	return quotas;
}

void server_exit(struct agent *agent)
{
	struct server *server = agent->server;
	struct server_conn *conn;

	if (!server)
		return;
	pause_exit(&server->pause);
	event_free(server->rest);
	evconnlistener_free(server->listener);
	while ((conn = LIST_FIRST(&server->conns))) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list */
		h2_conn_free(conn->h2);
		server_unlink(conn);
	}
	request_bodies_exit(&server->bodies);
	quota_exit(&server->quota);
	sources_exit(&server->sources);
	free(server);
	agent->server = NULL;
}
