// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/pair_probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/directory.h"
#include "cluster/address.h"
#include "cluster/hello.h"
#include "cluster/pair.h"
#include "net/client.h"
#include "net/h2_conn.h"
#include "net/peer.h"

#define PAIR_PROBE_OTHERS 3 /* addresses of its name besides the one that it is known by */
#define PAIR_PROBE_TIME_MAX (1ll << 53) /* ms since 1970 */

/* An address of which only the network is of interest: whether it leads anywhere. */
struct pair_probe_other {
	struct pair_probe *of;
	struct event *event; /* NULL: it is over */
	int fd;
	char text[INET6_ADDRSTRLEN];
};

struct pair_probe {
	struct peer *to;
	struct h2_conn *conn;
	struct event *deadline, *over; /* `over` leaves the callbacks of connections */
	unsigned int calls; /* requests under way */
	bool identified;
	int64_t sent; /* hello; wall clock, ms */
	uint64_t sent_at; /* the same, monotonic */
	const json_t *users;
	struct pair_probe_other others[PAIR_PROBE_OTHERS];
	unsigned int nothers;
	json_t *facts;
	pair_probe_fn done;
	void *ctx;
};

static void pair_probe_set(struct pair_probe *p, const char *member, json_t *value)
{
	json_object_set_new(p->facts, member, value);
}

/* The first thing that failed counts. */
static void pair_probe_fail(struct pair_probe *p, const char *stage, const char *trouble)
{
	if (json_object_get(p->facts, "failed"))
		return;
	pair_probe_set(p, "failed", json_string(stage));
	pair_probe_set(p, "trouble", json_string(trouble));
}

static bool pair_probe_looks(const struct pair_probe *p)
{
	for (unsigned int i = 0; i < p->nothers; i++)
		if (p->others[i].event)
			return true;
	return false;
}

static void pair_probe_check(struct pair_probe *p)
{
	if (!p->conn && !p->calls && !pair_probe_looks(p))
		event_active(p->over, 0, 0);
}

/* ---- the other addresses of its name ---- */

static void pair_probe_other_over(struct pair_probe_other *o, int err)
{
	json_t *silent = json_object_get(o->of->facts, "silent");

	event_free(o->event);
	o->event = NULL;
	close(o->fd);
	if (err == ETIMEDOUT || err == EHOSTUNREACH)
		json_array_append_new(silent, json_string(o->text));
	pair_probe_check(o->of);
}

static void pair_probe_on_other(evutil_socket_t fd, short what, void *arg)
{
	socklen_t size = sizeof(int);
	int err = ETIMEDOUT;

	if (!(what & EV_TIMEOUT))
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size);
	pair_probe_other_over(arg, err);
}

static void pair_probe_try(struct pair_probe *p, const struct address *to)
{
	struct pair_probe_other *o = &p->others[p->nothers];
	int fd = socket(to->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	/* a host without such a network is not delayed by the address */
	if (connect(fd, (const struct sockaddr *)&to->sa, to->length) && errno != EINPROGRESS)
		goto close_fd;
	o->event = event_new(p->to->agent->base, fd, EV_WRITE, pair_probe_on_other, o);
	if (!o->event)
		goto close_fd;
	o->of = p;
	o->fd = fd;
	p->nothers++;
	clock_arm(o->event, PAIR_PROBE_MS - 1000); /* before the deadline */
	return;

close_fd:
	close(fd);
}

/* One address of the answer, with the port that the node is known by. False: it is none. */
static bool pair_probe_address(const struct pair_probe *p, const uint32_t *words,
			       struct address *out, char text[INET6_ADDRSTRLEN])
{
	const char *port = strrchr(p->to->address.text, ':') + 1;
	char whole[ADDRESS_TEXT];

	if (!inet_ntop(words[0], &words[1], text, INET6_ADDRSTRLEN))
		return false;
	snprintf(whole, sizeof(whole), words[0] == AF_INET6 ? "[%s]:%s" : "%s:%s", text, port);
	return !address_parse(whole, out);
}

static void pair_probe_names(struct pair_probe *p, const struct directory_answer *host)
{
	json_t *addresses = json_array();
	struct address other[DIRECTORY_ADDRESSES];
	char text[INET6_ADDRSTRLEN];
	unsigned int n = 0, i;
	bool named = false;

	for (i = 0; i + DIRECTORY_ADDRESS_WORDS <= host->ngroups && n < DIRECTORY_ADDRESSES;
	     i += DIRECTORY_ADDRESS_WORDS) {
		if (!pair_probe_address(p, &host->groups[i], &other[n], text))
			continue;
		json_array_append_new(addresses, json_string(text));
		if (address_is(&p->to->address, text))
			named = true;
		else
			n++;
	}
	pair_probe_set(p, "addresses", addresses);
	pair_probe_set(p, "named", json_boolean(named));
	pair_probe_set(p, "silent", json_array());
	/* else they may be those of another host */
	for (i = 0; named && i < n && p->nothers < PAIR_PROBE_OTHERS; i++) {
		inet_ntop(other[i].sa.ss_family,
			  other[i].sa.ss_family == AF_INET6
				  ? (void *)&((struct sockaddr_in6 *)&other[i].sa)->sin6_addr
				  : (void *)&((struct sockaddr_in *)&other[i].sa)->sin_addr,
			  p->others[p->nothers].text, INET6_ADDRSTRLEN);
		pair_probe_try(p, &other[i]);
	}
}

/* ---- the connection ---- */

static void pair_probe_on_users(void *ctx, int status, const json_t *reply)
{
	json_t *unknown = json_array(), *text;
	struct pair_probe *p = ctx;
	size_t i;

	p->calls--;
	json_array_foreach(json_object_get(reply, "users"), i, text)
		if (status == 200 && json_is_string(text) && i < json_array_size(p->users))
			json_array_append_new(unknown,
					      json_pack("{s:i,s:O}", "user", (int)i, "text", text));
	if (status == 200)
		pair_probe_set(p, "unknown", unknown);
	else
		json_decref(unknown);
	if (p->conn)
		h2_conn_close(p->conn, H2_END_GOODBYE, "tested");
	pair_probe_check(p);
}

static void pair_probe_on_hello(void *ctx, int status, const json_t *reply);

/* False: it was not sent. */
static bool pair_probe_ask(struct pair_probe *p, const char *path, json_t *body,
			   client_reply_fn done)
{
	if (client_request(p->to->agent, p->conn, peer_host(p->to), path, body, PAIR_PROBE_MS, done,
			   p))
		return false;
	p->calls++;
	return true;
}

static void pair_probe_hear(struct pair_probe *p, const json_t *said)
{
	const json_int_t time = json_integer_value(json_object_get(said, "time"));
	const int64_t back = p->sent + (int64_t)(clock_ms() - p->sent_at);
	int64_t within, skew;

	skew = pair_skew(p->sent, back, time > 0 && time < PAIR_PROBE_TIME_MAX ? time : 0, &within);
	pair_probe_set(p, "skew_ms", json_integer(skew));
	pair_probe_set(p, "within_ms", json_integer(within));
	pair_probe_set(p, "protocol", json_integer(p->to->protocol));
	if (*p->to->release)
		pair_probe_set(p, "release", json_string(p->to->release));
}

static void pair_probe_on_hello(void *ctx, int status, const json_t *reply)
{
	const char *error = json_string_value(json_object_get(reply, "error"));
	const char *node = json_string_value(json_object_get(reply, "node"));
	struct pair_probe *p = ctx;
	char why[VERSIONS_TEXT];

	p->calls--;
	if ((status == 200 || (status == 403 && json_object_get(reply, "protocol"))) &&
	    !hello_fits(p->to, reply, why))
		pair_probe_fail(p, "version", why);
	else if (status == 200 && (!node || strcmp(node, peer_code(p->to))))
		pair_probe_fail(p, "refused", "it says that it is another node");
	else if (status == 200)
		pair_probe_hear(p, reply);
	else if (status)
		pair_probe_fail(p, "refused", error ?: "no reason given");
	if (p->conn &&
	    (status != 200 || json_object_get(p->facts, "failed") || !json_array_size(p->users) ||
	     !pair_probe_ask(p, "/v1/users", json_pack("{s:O}", "users", p->users),
			     pair_probe_on_users)))
		h2_conn_close(p->conn, H2_END_GOODBYE, "tested");
	pair_probe_check(p);
}

static const char *pair_probe_on_identified(void *ctx, const char *cn)
{
	struct pair_probe *p = ctx;

	if (strcmp(cn, p->to->host))
		return "certificate refused: it is of another host";
	p->identified = true;
	return NULL;
}

static void pair_probe_on_ready(void *ctx)
{
	struct pair_probe *p = ctx;

	pair_probe_set(p, "certificate_seconds",
		       json_integer(h2_conn_until(p->conn) - clock_wall_ms() / 1000));
	p->sent = clock_wall_ms();
	p->sent_at = clock_ms();
	if (!pair_probe_ask(p, "/v1/hello", hello_new(p->to->agent), pair_probe_on_hello))
		h2_conn_close(p->conn, H2_END_BROKEN, "out of memory");
}

static void pair_probe_on_closed(void *ctx, enum h2_end end, const char *why, const char *cn)
{
	static const char *const of_tls[] = { "certificate refused",
					      "TLS: ", "it says that this host" };
	struct pair_probe *p = ctx;
	const char *stage = p->identified ? "refused" : "port";

	for (size_t i = 0; i < sizeof(of_tls) / sizeof(*of_tls); i++)
		if (!strncmp(why, of_tls[i], strlen(of_tls[i])))
			stage = "certificate";
	p->conn = NULL;
	/* until hello is answered, whatever ends it is a failure */
	if (!json_object_get(p->facts, "protocol"))
		pair_probe_fail(p, stage, why);
	pair_probe_check(p);
}

static const struct h2_conn_ops pair_probe_ops = {
	.identified = pair_probe_on_identified,
	.ready = pair_probe_on_ready,
	.closed = pair_probe_on_closed,
};

/* ---- begin and end ---- */

static void pair_probe_on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct pair_probe *p = arg;

	if (p->conn)
		h2_conn_close(p->conn, H2_END_SILENT, "no answer in time");
}

static void pair_probe_on_over(evutil_socket_t fd, short what, void *arg)
{
	struct pair_probe *p = arg;
	json_t *facts = json_incref(p->facts);
	pair_probe_fn done = p->done;
	struct peer *to = p->to;
	void *ctx = p->ctx;

	pair_probe_free(p);
	done(ctx, to, facts);
}

struct pair_probe *pair_probe_new(struct peer *to, const json_t *users,
				  const struct directory_answer *host, pair_probe_fn done,
				  void *ctx)
{
	struct pair_probe *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->to = to;
	p->users = users;
	p->done = done;
	p->ctx = ctx;
	p->facts = json_object();
	p->deadline = evtimer_new(to->agent->base, pair_probe_on_deadline, p);
	p->over = event_new(to->agent->base, -1, 0, pair_probe_on_over, p);
	if (!p->facts || !p->deadline || !p->over)
		goto free_probe;
	if (host)
		pair_probe_names(p, host);
	if (to->agent->release)
		pair_probe_set(p, "from_release", json_string(to->agent->release));
	p->conn = h2_conn_connect(to->agent, &to->address, PAIR_PROBE_MS, &pair_probe_ops, p);
	if (!p->conn)
		pair_probe_fail(p, "port", strerror(errno));
	clock_arm(p->deadline, PAIR_PROBE_MS);
	pair_probe_check(p);
	return p;

free_probe:
	pair_probe_free(p);
	return NULL;
}

void pair_probe_free(struct pair_probe *p)
{
	struct h2_conn *conn = p->conn;

	for (unsigned int i = 0; i < p->nothers; i++)
		if (p->others[i].event) {
			event_free(p->others[i].event);
			close(p->others[i].fd);
		}
	/* its requests end with it */
	p->conn = NULL;
	if (conn)
		h2_conn_free(conn);
	agent_free_event(&p->deadline);
	agent_free_event(&p->over);
	json_decref(p->facts);
	free(p);
}
