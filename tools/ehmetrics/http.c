// SPDX-License-Identifier: GPL-2.0-or-later
#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>

#define HTTP_SECONDS 10 /* a visitor who says or takes nothing for this long is gone */
#define HTTP_HEADERS 8192
#define HTTP_WAITING (64u << 20) /* bytes of answers that visitors do not read */
#define HTTP_HELD 65536 /* bytes that the kernel keeps of an answer without end */
#define HTTP_REST_MS 200

struct http {
	struct evhttp *server;
	struct evconnlistener *listener;
	const struct http_route *routes;
	void *ctx;
	size_t waiting;
	bool local; /* listens on the loopback */
	char address[64], name[256];
};

/* ---- answers ---- */

struct body {
	struct http *http;
	size_t length;
	char *text;
};

static void body_free(const void *data, size_t length, void *arg)
{
	struct body *b = arg;

	b->http->waiting -= b->length;
	free(b->text);
	free(b);
}

static void http_header(struct evhttp_request *request, const char *name, const char *value)
{
	evhttp_add_header(evhttp_request_get_output_headers(request), name, value);
}

static void http_headers(struct evhttp_request *request, const char *type)
{
	http_header(request, "Content-Type", type);
	http_header(request, "Cache-Control", "no-store");
	http_header(request, "X-Content-Type-Options", "nosniff");
	http_header(request, "Cross-Origin-Resource-Policy", "same-origin");
}

void http_send(struct http *http, struct evhttp_request *request, int code, const char *type,
	       char *body)
{
	const size_t length = body ? strlen(body) : 0;
	struct body *b = body && http->waiting + length <= HTTP_WAITING ? malloc(sizeof(*b)) : NULL;

	if (!b) {
		free(body);
		evhttp_send_reply(request, 503, NULL, NULL);
		return;
	}
	*b = (struct body){ http, length, body };
	http->waiting += length;
	/* An empty body is not a part of a buffer, and nothing frees it. */
	if (!length || evbuffer_add_reference(evhttp_request_get_output_buffer(request), body,
					      length, body_free, b))
		body_free(body, length, b);
	http_headers(request, type);
	evhttp_send_reply(request, code, NULL, NULL);
}

void http_start(struct evhttp_request *request, const char *type)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(request);
	struct bufferevent *buffer = evhttp_connection_get_bufferevent(connection);
	const struct timeval patience = { HTTP_SECONDS, 0 };
	const int held = HTTP_HELD;

	http_headers(request, type);
	http_header(request, "Connection", "close");
	/* Its visitor says nothing more, and more than a little of it is not read. */
	bufferevent_set_timeouts(buffer, NULL, &patience);
	bufferevent_setwatermark(buffer, EV_READ, 0, HTTP_HEADERS);
	setsockopt(bufferevent_getfd(buffer), SOL_SOCKET, SO_SNDBUF, &held, sizeof(held));
	evhttp_send_reply_start(request, 200, NULL);
}

void http_refuse(struct http *http, struct evhttp_request *request, int code, const char *why)
{
	char *text = NULL;

	if (asprintf(&text, "%s\n", why) < 0)
		text = NULL;
	http_send(http, request, code, "text/plain; charset=utf-8", text);
}

/* ---- who may ask ---- */

static bool is_address(const char *host)
{
	struct in6_addr address;
	char text[INET6_ADDRSTRLEN];
	size_t n = strlen(host);

	if (*host != '[')
		return inet_pton(AF_INET, host, &address) == 1;
	if (n < 2 || host[n - 1] != ']' || n - 2 >= sizeof(text))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)n - 2, host + 1);
	return inet_pton(AF_INET6, text, &address) == 1;
}

/*
 * A page from elsewhere can have its own name resolve to our address, and would then read what its
 * browser is told here. It cannot send another name than its own, and no address.
 */
static bool http_knows_host(const struct http *http, const struct evhttp_request *request)
{
	const char *said = evhttp_find_header(
		evhttp_request_get_input_headers((struct evhttp_request *)request), "Host");
	char host[256];
	size_t n;

	if (!said)
		return false;
	n = *said == '[' ? strcspn(said, "]") + 1 : strcspn(said, ":");
	if (n >= sizeof(host) || n > strlen(said))
		return false;
	snprintf(host, sizeof(host), "%.*s", (int)n, said);
	return is_address(host) || !strcasecmp(host, "localhost") ||
	       (*http->name && !strcasecmp(host, http->name));
}

static bool http_is_foreign(struct evhttp_request *request)
{
	const char *site =
		evhttp_find_header(evhttp_request_get_input_headers(request), "Sec-Fetch-Site");

	return site && (!strcmp(site, "cross-site") || !strcmp(site, "same-site"));
}

static void http_on_request(struct evhttp_request *request, void *arg)
{
	const char *uri = evhttp_request_get_uri(request);
	struct http *http = arg;

	if (*uri != '/') {
		http_refuse(http, request, 400, "this is not a proxy");
		return;
	}
	/* Where other hosts ask, they have names for this one that it need not know. */
	if (http->local && !http_knows_host(http, request)) {
		http_refuse(http, request, 421,
			    "call this host by its address, its name or localhost");
		return;
	}
	if (http_is_foreign(request)) {
		http_refuse(http, request, 403, "not for pages from elsewhere");
		return;
	}
	for (const struct http_route *r = http->routes; r->path; r++) {
		size_t n = strlen(r->path);

		if (strncmp(uri, r->path, n) || (uri[n] && uri[n] != '?') ||
		    !(r->everywhere || http->local))
			continue;
		r->answer(http, request);
		return;
	}
	http_refuse(http, request, 404, "nothing is here");
}

/* ---- listening ---- */

static void http_on_rested(evutil_socket_t fd, short what, void *arg)
{
	evconnlistener_enable(arg);
}

/* All descriptors are in use: those that wait would wake us again and again. `arg` is the server's. */
static void http_on_trouble(struct evconnlistener *listener, void *arg)
{
	const struct timeval soon = { 0, HTTP_REST_MS * 1000 };

	if (!event_base_once(evconnlistener_get_base(listener), -1, EV_TIMEOUT, http_on_rested,
			     listener, &soon))
		evconnlistener_disable(listener);
}

int http_parse(const char *text, struct sockaddr_storage *at)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)at;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)at;
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	size_t n = colon ? (size_t)(colon - text) : 0;
	unsigned long port;

	memset(at, 0, sizeof(*at));
	if (!n || n >= sizeof(host) || !colon[1] || strlen(colon + 1) > 5 ||
	    colon[1 + strspn(colon + 1, "0123456789")])
		return -EINVAL;
	port = strtoul(colon + 1, NULL, 10);
	snprintf(host, sizeof(host), "%.*s", (int)n, text);
	if (port > UINT16_MAX || !is_address(host))
		return -EINVAL;
	if (*host == '[') {
		host[n - 1] = '\0';
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		return inet_pton(AF_INET6, host + 1, &v6->sin6_addr) == 1 ? 0 : -EINVAL;
	}
	v4->sin_family = AF_INET;
	v4->sin_port = htons(port);
	return inet_pton(AF_INET, host, &v4->sin_addr) == 1 ? 0 : -EINVAL;
}

static void http_tell_address(struct http *http, const struct sockaddr_storage *at)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)at;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)at;
	char text[INET6_ADDRSTRLEN] = "";

	if (at->ss_family == AF_INET6)
		snprintf(http->address, sizeof(http->address), "[%s]:%u",
			 inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text)),
			 ntohs(v6->sin6_port));
	else
		snprintf(http->address, sizeof(http->address), "%s:%u",
			 inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text)),
			 ntohs(v4->sin_port));
}

static bool is_loopback(const struct sockaddr_storage *at)
{
	if (at->ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)at)->sin6_addr);
	return ntohl(((const struct sockaddr_in *)at)->sin_addr.s_addr) >> 24 == 127;
}

static int http_listen(struct http *http, struct event_base *base,
		       const struct sockaddr_storage *at)
{
	struct sockaddr_storage real = *at;
	socklen_t n = sizeof(real);

	http_tell_address(http, at);
	http->listener = evconnlistener_new_bind(
		base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE,
		-1, (const struct sockaddr *)at,
		at->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					  : sizeof(struct sockaddr_in));
	if (!http->listener ||
	    getsockname(evconnlistener_get_fd(http->listener), (struct sockaddr *)&real, &n))
		return -errno;
	http_tell_address(http, &real);
	http->local = is_loopback(&real);
	return 0;
}

struct http *http_new(struct event_base *base, const struct sockaddr_storage *at,
		      const struct http_route *routes, void *ctx, char *why, size_t size)
{
	struct http *http = calloc(1, sizeof(*http));

	snprintf(why, size, "out of memory");
	if (!http)
		return NULL;
	http->routes = routes;
	http->ctx = ctx;
	if (gethostname(http->name, sizeof(http->name) - 1))
		*http->name = '\0';
	http->server = evhttp_new(base);
	if (!http->server)
		goto free_http;
	if (http_listen(http, base, at)) {
		snprintf(why, size, "%s: cannot listen: %s", http->address, strerror(errno));
		goto free_http;
	}
	if (!evhttp_bind_listener(http->server, http->listener)) {
		snprintf(why, size, "out of memory");
		goto free_http;
	}
	evconnlistener_set_error_cb(http->listener, http_on_trouble);
	evhttp_set_allowed_methods(http->server, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
	evhttp_set_max_headers_size(http->server, HTTP_HEADERS);
	evhttp_set_max_body_size(http->server, 0);
	evhttp_set_timeout(http->server, HTTP_SECONDS);
	evhttp_set_gencb(http->server, http_on_request, http);
	return http;

free_http:
	http_free(http);
	return NULL;
}

void http_free(struct http *http)
{
	if (!http)
		return;
	/* closes the listener, too */
	if (http->server)
		evhttp_free(http->server);
	free(http);
}

const char *http_address(const struct http *http)
{
	return http->address;
}

bool http_is_local(const struct http *http)
{
	return http->local;
}

void *http_ctx(const struct http *http)
{
	return http->ctx;
}
