// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ehctl metrics: what the agent tells, for Prometheus and as a page. A process of its own, as the agent is to be
 * reached by nothing that speaks HTTP to whoever comes.
 */
#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <event2/event.h>
#include <jansson.h>

#include "api.h"
#include "confine.h"
#include "events.h"
#include "exposition.h"
#include "http.h"
#include "look.h"
#include "metrics.h"
#include "page.h"
#include "stream.h"
#include "tools/common/common.h"
#include "tools/common/help.h"

#define MAIN_LISTEN "127.0.0.1:9411"

struct arguments {
	struct sockaddr_storage listen;
	bool once, own;
};

static int take_listen(void *arguments, const char *text)
{
	return http_parse(text, &((struct arguments *)arguments)->listen);
}

static const struct option_row table[] = {
	{ "listen", OPTION_OWN, 0, "ADDRESS:PORT", .take = take_listen,
	  .wanted = "ADDRESS:PORT, as 127.0.0.1:9411 or [::1]:9411",
	  .help = "where Prometheus asks (" MAIN_LISTEN "); port 0: any that is free" },
	{ "own", OPTION_FLAG, offsetof(struct arguments, own),
	  .help = "only what concerns this node: for a process on each host" },
	{ "once", OPTION_FLAG, offsetof(struct arguments, once),
	  .help = "print the metrics once, and listen nowhere" },
	{ 0 },
};

/* ---- /metrics ---- */

struct visit {
	struct metrics *of;
	struct evhttp_request *request;
};

static void metrics_on_status(void *ctx, const json_t *status, double seconds, const char *why)
{
	static const char *const types[] = {
		"text/plain; version=0.0.4; charset=utf-8",
		"application/openmetrics-text; version=1.0.0; charset=utf-8",
	};
	struct visit *v = ctx;
	const char *accept =
		evhttp_find_header(evhttp_request_get_input_headers(v->request), "Accept");
	enum exposition_format format = accept && strstr(accept, "application/openmetrics-text")
						? EXPOSITION_OPENMETRICS
						: EXPOSITION_TEXT;
	const struct exposition_look look = { status, seconds, v->of->own };

	http_send(v->of->http, v->request, 200, types[format], exposition_write(&look, format));
	free(v);
}

static void metrics_answer(struct http *http, struct evhttp_request *request)
{
	struct metrics *m = http_ctx(http);
	struct visit *v = malloc(sizeof(*v));

	if (!v) {
		http_refuse(http, request, 503, "out of memory");
		return;
	}
	*v = (struct visit){ m, request };
	look_at(m->status, metrics_on_status, v);
}

static const struct http_route routes[] = {
	{ "/metrics", true, metrics_answer },
	{ "/api/status", false, api_status },
	{ "/api/events", false, api_events },
	{ "/api/tasks", false, api_tasks },
	{ "/api/history", false, api_history },
	{ "/api/why", false, api_why },
	{ "/", false, page_answer },
	{ "/page.css", false, page_answer },
	{ "/base.js", false, page_answer },
	{ "/nodes.js", false, page_answer },
	{ "/events.js", false, page_answer },
	{ "/history.js", false, page_answer },
	{ "/gantt.js", false, page_answer },
	{ "/plan.js", false, page_answer },
	{ 0 },
};

/* ---- --once ---- */

static void metrics_print(void *ctx, const json_t *status, double seconds, const char *why)
{
	struct metrics *m = ctx;
	const struct exposition_look look = { status, seconds, m->own };
	char *text = status ? exposition_write(&look, EXPOSITION_TEXT) : NULL;

	if (text)
		fputs(text, stdout);
	else
		fail(0, "%s", why ?: "out of memory");
	m->code = text ? EXIT_DONE : EXIT_REFUSED;
	free(text);
	event_base_loopbreak(m->base);
}

/* ---- serving ---- */

static void metrics_on_signal(evutil_socket_t number, short what, void *arg)
{
	event_base_loopbreak(arg);
}

static int metrics_say(const struct metrics *m, bool json)
{
	const char *at = http_address(m->http), *key = m->key.text;
	json_t *document;
	int code = EXIT_DONE;

	if (json) {
		document = json_pack("{s:i,s:s,s:o,s:n}", "version", 1, "listen", at, "metrics",
				     json_sprintf("http://%s/metrics", at), "page");
		if (m->events)
			json_object_set_new(document, "page",
					    json_sprintf("http://%s/#%s", at, key));
		code = json_print(document);
		json_decref(document);
	} else {
		printf("metrics: http://%s/metrics\n", at);
		if (m->events)
			printf("page:    http://%s/#%s\n", at, key);
	}
	/* who started it waits for these lines */
	return fflush(stdout) ? fail(EXIT_REFUSED, "standard output: %s", strerror(errno)) : code;
}

static int metrics_serve(struct metrics *m, const struct sockaddr_storage *listen, bool json)
{
	struct event *term, *interrupt;
	char why[256];
	const char *what = NULL;
	int code = EXIT_REFUSED, err;

	m->http = http_new(m->base, listen, routes, m, why, sizeof(why));
	if (!m->http)
		return fail(EXIT_REFUSED, "%s", why);
	err = key_make(&m->key);
	if (err) {
		fail(0, "no random numbers: %s", strerror(-err));
		goto free_http;
	}
	/* Tasks are for this user, and the loopback only has this host. */
	m->streams = http_is_local(m->http) ? streams_new(m->base) : NULL;
	m->events = m->streams ? events_new(m->base, streams_on_news, m->streams) : NULL;
	term = evsignal_new(m->base, SIGTERM, metrics_on_signal, m->base);
	interrupt = evsignal_new(m->base, SIGINT, metrics_on_signal, m->base);
	if ((http_is_local(m->http) && !m->events) || !term || !interrupt ||
	    event_add(term, NULL) || event_add(interrupt, NULL)) {
		fail(0, "out of memory");
		goto free_events;
	}
	err = confine(&what);
	if (err) {
		fail(0, "%s: %s", what, strerror(-err));
		goto free_events;
	}
	code = metrics_say(m, json);
	if (code == EXIT_DONE)
		event_base_dispatch(m->base);
free_events:
	if (interrupt)
		event_free(interrupt);
	if (term)
		event_free(term);
free_http:
	streams_free(m->streams);
	events_free(m->events);
	http_free(m->http);
	return code;
}

static int metrics_run(const struct arguments *a, bool json)
{
	struct metrics m = { .own = a->own, .code = EXIT_REFUSED };
	const struct passwd *user;
	const char *what;
	int err = confine_user(&what);

	if (err)
		return fail(EXIT_REFUSED, "%s: %s", what, strerror(-err));
	/* later no file can be opened */
	tzset();
	m.uid = geteuid();
	user = getpwuid(m.uid);
	if (user)
		snprintf(m.user, sizeof(m.user), "%s", user->pw_name);
	m.base = event_base_new();
	if (m.base) {
		m.status = look_new(m.base, json_pack("{s:s}", "command", "status"));
		m.tasks = look_new(m.base, json_pack("{s:s,s:b}", "command", "tasks", "all", 1));
	}
	if (!m.status || !m.tasks) {
		fail(0, "out of memory");
		goto free_base;
	}
	if (a->once) {
		look_at(m.status, metrics_print, &m);
		event_base_dispatch(m.base);
	} else {
		m.code = metrics_serve(&m, &a->listen, json);
	}
free_base:
	look_free(m.status);
	look_free(m.tasks);
	if (m.base)
		event_base_free(m.base);
	return m.code;
}

int main(int argc, char **argv)
{
	struct arguments a = { 0 };
	bool json = false, help = false;
	int code;

	command_name = "metrics";
	command_usage = "[--listen ADDRESS:PORT] [--own] [--once] [--json]";
	take_listen(&a, MAIN_LISTEN);
	argc = command_take_options(argc, argv, &json, &help);
	if (help) {
		help_command(command_name, command_usage,
			     "serve a page and metrics for Prometheus over HTTP\n");
		options_help(table);
		help_text(stdout,
			  "\nRuns until interrupted, and prints where it listens; --json does so "
			  "as a document. It needs no rights: root becomes nobody.");
		return command_finish(EXIT_DONE);
	}
	code = options_parse(argc, argv, table, &a);
	if (code)
		return code;
	if (optind < argc)
		return bad_argument(argv[optind]);
	if (json && a.once)
		return bad_usage("--once prints metrics, which are not JSON");
	signal(SIGPIPE, SIG_IGN);
	/* later it could not read where random numbers come from */
	json_object_seed(0);
	return command_finish(metrics_run(&a, json));
}
