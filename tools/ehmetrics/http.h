/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file http.h
 * Requests over HTTP: routes, and what is checked before one of them answers. Only GET and
 * HEAD are known.
 */
#ifndef EHMETRICS_HTTP_H
#define EHMETRICS_HTTP_H

#include <event2/event.h>
#include <event2/http.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct http;

struct http_route {
	const char *path; /**< NULL ends the table */
	bool everywhere; /**< or where only this host asks */
	void (*answer)(struct http *http, struct evhttp_request *request);
};

/** Reads ADDRESS:PORT ("127.0.0.1:9411", "[::1]:9411"). 0 or -EINVAL. */
int http_parse(const char *text, struct sockaddr_storage *at);
/** Listens there. NULL: why[] says why. */
struct http *http_new(struct event_base *base, const struct sockaddr_storage *at,
		      const struct http_route *routes, void *ctx, char *why, size_t size);
void http_free(struct http *http);
/** Where it listens, with the port that port 0 became. */
const char *http_address(const struct http *http);
/** Whether only this host can ask. */
bool http_is_local(const struct http *http);
/** As http_new() was told. */
void *http_ctx(const struct http *http);

/** Answers, and takes over `body`, which is to be freed; NULL: no memory. */
void http_send(struct http *http, struct evhttp_request *request, int code, const char *type,
	       char *body);
/** Begins an answer in chunks that may go on for long; the caller ends it. */
void http_start(struct evhttp_request *request, const char *type);
/** Answers with a line of text. */
void http_refuse(struct http *http, struct evhttp_request *request, int code, const char *why);

#endif
