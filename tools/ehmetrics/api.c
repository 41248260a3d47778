// SPDX-License-Identifier: GPL-2.0-or-later
#include "api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <jansson.h>

#include "ask.h"
#include "events.h"
#include "history/when.h"
#include "http.h"
#include "look.h"
#include "metrics.h"
#include "stream.h"
#include "tools/common/common.h"

#define API_ID 160 /* as long as the agent's */
#define API_LIMIT 200

/* ---- answers ---- */

static void api_send(struct http *http, struct evhttp_request *request, int code,
		     const json_t *reply)
{
	http_send(http, request, code, "application/json",
		  reply ? json_dumps(reply, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL);
}

static void api_refuse(struct http *http, struct evhttp_request *request, int code, const char *why)
{
	json_t *reply = json_pack("{s:i,s:{s:s}}", "version", 1, "error", "why", why);

	api_send(http, request, code, reply);
	json_decref(reply);
}

/* What comes of a question to the agent. */
struct api_visit {
	struct http *http;
	struct evhttp_request *request;
};

static struct api_visit *api_visit(struct http *http, struct evhttp_request *request)
{
	struct api_visit *v = malloc(sizeof(*v));

	if (v)
		*v = (struct api_visit){ http, request };
	else
		api_refuse(http, request, 503, "out of memory");
	return v;
}

static void api_on_reply(void *ctx, const json_t *reply, const char *why)
{
	struct api_visit *v = ctx;

	if (reply)
		api_send(v->http, v->request, 200, reply);
	else
		api_refuse(v->http, v->request, 503, why);
	free(v);
}

/* ---- questions ---- */

static bool api_has_key(struct http *http, struct evhttp_request *request)
{
	const struct metrics *m = http_ctx(http);

	return key_fits(&m->key, evhttp_find_header(evhttp_request_get_input_headers(request),
						    "X-Ehsched-Key"));
}

/* One with the key; NULL: it has been answered. */
static struct api_visit *api_visit_of_tasks(struct http *http, struct evhttp_request *request)
{
	if (api_has_key(http, request))
		return api_visit(http, request);
	api_refuse(http, request, 403,
		   "tasks are shown at the address that ehctl metrics has printed");
	return NULL;
}

/* Takes over the question. */
static void api_ask(struct http *http, struct evhttp_request *request, json_t *question)
{
	struct api_visit *v = api_visit_of_tasks(http, request);
	const struct metrics *m = http_ctx(http);

	if (v)
		ask_once(m->base, question, api_on_reply, v);
	else
		json_decref(question);
}

/* What stands behind the ? of the request, to be cleared. False: it cannot be read, or nothing does. */
static bool api_words(struct evhttp_request *request, struct evkeyvalq *words)
{
	const char *query = strchr(evhttp_request_get_uri(request), '?');

	TAILQ_INIT(words);
	return query && !evhttp_parse_query_str(query + 1, words);
}

/* A number of the request; `none` if there is none. */
static long long api_number(const struct evkeyvalq *words, const char *name, long long most,
			    long long none)
{
	const char *text = evhttp_find_header(words, name);
	char *end;
	long long n;

	if (!text || !*text)
		return none;
	errno = 0;
	n = strtoll(text, &end, 10);
	return *end || errno || n < 0 || n > most ? none : n;
}

static void api_on_look(void *ctx, const json_t *answer, double seconds, const char *why)
{
	api_on_reply(ctx, answer, why);
}

void api_status(struct http *http, struct evhttp_request *request)
{
	const struct metrics *m = http_ctx(http);
	struct api_visit *v = api_visit(http, request);

	if (v)
		look_at(m->status, api_on_look, v);
}

void api_events(struct http *http, struct evhttp_request *request)
{
	const struct evkeyvalq *said = evhttp_request_get_input_headers(request);
	const char *accept = evhttp_find_header(said, "Accept"), *why;
	const bool key = api_has_key(http, request);
	const struct metrics *m = http_ctx(http);
	struct evkeyvalq words;
	long long after;
	json_t *reply;

	api_words(request, &words);
	after = api_number(said, "Last-Event-ID", INT64_MAX,
			   api_number(&words, "after", INT64_MAX, 0));
	evhttp_clear_headers(&words);
	if (accept && strstr(accept, "text/event-stream") &&
	    evhttp_request_get_command(request) == EVHTTP_REQ_GET) {
		why = stream_open(m->streams, m->events, request, after, key);
		if (why)
			api_refuse(http, request, 503, why);
		return;
	}
	reply = events_since(m->events, after, key);
	api_send(http, request, 200, reply);
	json_decref(reply);
}

void api_tasks(struct http *http, struct evhttp_request *request)
{
	struct api_visit *v = api_visit_of_tasks(http, request);
	const struct metrics *m = http_ctx(http);

	if (v)
		look_at(m->tasks, api_on_look, v);
}

/* ---- history ---- */

/* No file can be opened here, and so no other name be looked up. */
static const char *api_take_user(const struct metrics *m, const char *text, json_t *question)
{
	uint64_t uid = m->uid;

	if ((!*m->user || strcmp(text, m->user)) && parse_count(text, UINT32_MAX - 1, &uid))
		return "user: must be a number, or the name of the user who started ehctl metrics";
	json_object_set_new(question, "uid", json_integer((json_int_t)uid));
	return NULL;
}

static const char *api_take_time(const char *name, const char *text, json_t *question)
{
	time_t at;

	if (when_parse(text, time(NULL), &at))
		return "since, until: no such time; use 2h, today, 14:30 or 2026-11-23 14:30";
	json_object_set_new(question, name, json_integer((json_int_t)at * 1000));
	return NULL;
}

/* NULL, or why one of them cannot be asked for. Empty ones are none. */
static const char *api_take_filters(const struct metrics *m, const struct evkeyvalq *words,
				    json_t *question)
{
	static const struct {
		const char *word, *member;
		bool time;
	} filters[] = {
		{ "since", "since", true },	 { "until", "until", true },
		{ "program", "program", false }, { "node", "executor", false },
		{ "reason", "reason", false },	 { "session", "session", false },
	};
	const char *text = evhttp_find_header(words, "user"), *why = NULL;

	if (text && *text)
		why = api_take_user(m, text, question);
	for (size_t i = 0; !why && i < sizeof(filters) / sizeof(*filters); i++) {
		text = evhttp_find_header(words, filters[i].word);
		if (!text || !*text)
			continue;
		if (filters[i].time)
			why = api_take_time(filters[i].member, text, question);
		else if (json_object_set_new(question, filters[i].member, json_string(text)))
			why = "program, node, reason, session: not UTF-8";
	}
	if (evhttp_find_header(words, "failed"))
		json_object_set_new(question, "failed", json_true());
	return why;
}

void api_history(struct http *http, struct evhttp_request *request)
{
	json_t *question = json_pack("{s:s,s:b}", "command", "history", "all", 1);
	struct evkeyvalq words;
	long long before;
	const char *why;

	api_words(request, &words);
	before = api_number(&words, "before", INT64_MAX, 0);
	json_object_set_new(question, "limit",
			    json_integer(api_number(&words, "limit", API_LIMIT, API_LIMIT)));
	why = api_take_filters(http_ctx(http), &words, question);
	/* `at` of the last one: rows of several homes have no number in common. Those of that moment come again. */
	if (before && before < INT64_MAX)
		json_object_set_new(question, "until", json_integer(before + 1));
	evhttp_clear_headers(&words);
	if (!why) {
		api_ask(http, request, question);
		return;
	}
	json_decref(question);
	api_refuse(http, request, 400, why);
}

void api_why(struct http *http, struct evhttp_request *request)
{
	struct evkeyvalq words;
	const char *id;

	api_words(request, &words);
	id = evhttp_find_header(&words, "id");
	if (!id || !*id || strlen(id) >= API_ID)
		api_refuse(http, request, 400, "id: missing, or too long");
	else
		api_ask(http, request, json_pack("{s:s,s:s}", "command", "why", "id", id));
	evhttp_clear_headers(&words);
}
