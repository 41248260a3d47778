// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Joining. Asks the members that the configuration and the saved roster name, one more each
 * JOIN_STEP_MS without waiting for the earlier ones; the first good answer counts. Asking
 * several is harmless, because a host gets the same code each time.
 */

#include "cluster/join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include <event2/event.h>
#include <utlist.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "cluster/address.h"
#include "cluster/own_roster.h"
#include "cluster/roster.h"
#include "cluster/roster_json.h"
#include "cluster/vouch.h"
#include "eh/topology.h"
#include "job/backoff.h"
#include "net/client.h"
#include "net/h2_conn.h"

#define JOIN_STEP_MS 250
#define JOIN_ASK_MS 5000 /* the member may pass it on */
#define JOIN_PATIENCE_MS 5000 /* how long a host with a saved place waits for an answer */
#define JOIN_BACKOFF_MIN 250
#define JOIN_BACKOFF_MAX 5000

struct join_try {
	struct join_try *next;
	struct join *join;
	struct address address;
	struct h2_conn *conn;
	bool told; /* the result was reported */
};

struct join {
	struct agent *agent;
	struct roster *kept, *given;
	uint32_t index; /* of the code that was assigned */
	size_t next; /* member to ask next */
	struct join_try *tries; /* in progress */
	struct event *timer, *patience;
	unsigned int backoff_ms;
	bool done;
	char trouble[264];
};

static struct log_limit join_log;

const char *join_trouble(const struct agent *agent)
{
	return agent->join && *agent->join->trouble ? agent->join->trouble
						    : "no member has answered yet";
}

static void __attribute__((format(printf, 3, 4)))
join_failed(struct join *j, const struct address *where, const char *format, ...)
{
	char why[200], text[sizeof(j->trouble)];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	snprintf(text, sizeof(text), "%s: %s", where->text, why);
	if (strcmp(text, j->trouble) && log_allowed(&join_log))
		log_warning("cannot join through %s", text);
	strcpy(j->trouble, text);
}

/* ---- the place ---- */

static const struct roster_entry *join_kept_place(const struct join *j)
{
	const struct roster_entry *e =
		j->kept ? roster_by_host(j->kept, j->agent->config->host) : NULL;

	return e && !e->left ? e : NULL;
}

static void join_end(struct join *j)
{
	j->done = true;
	event_base_loopbreak(j->agent->base);
}

/* Signs what was given, and adds it. NULL, or what is wrong with it. */
static const char *join_sign(struct join *j, struct roster *given, const json_t *entry)
{
	const struct config *c = j->agent->config;
	struct roster_entry e;
	json_t *grant;
	const char *why;

	if (!entry)
		return "it gives no entry to sign: is it of an older release?";
	why = roster_entry_from_json(roster_topology(given), entry, &e);
	if (why)
		return why;
	grant = e.proof;
	why = "its entry is not of this host";
	if (!strcmp(e.host, c->host) && !strcmp(e.address.text, c->address.text) && !e.left) {
		why = vouch_sign(j->agent, roster_topology(given), &e) || roster_add(given, &e) < 0
			      ? "cannot sign with the key of this host"
			      : NULL;
		json_decref(e.proof);
	}
	json_decref(grant);
	j->index = e.index;
	return why;
}

/* NULL, or what is wrong with the answer. */
static const char *join_take(struct join *j, const json_t *reply, const char *where)
{
	const struct roster_entry *e;
	const char *why;
	struct roster *given = roster_from_json(reply, &why);

	if (!given)
		return why;
	vouch_first(j->agent, given, where);
	why = join_sign(j, given, json_object_get(reply, "entry"));
	e = roster_by_host(given, j->agent->config->host);
	if (!why && (!e || e->left || e->index != j->index))
		why = "its roster does not contain this host";
	if (why) {
		roster_free(given);
		return why;
	}
	j->given = given;
	return NULL;
}

static void join_on_answer(void *ctx, int status, const json_t *reply)
{
	const char *error = json_string_value(json_object_get(reply, "error"));
	struct join_try *t = ctx;
	struct join *j = t->join;

	if (j->done)
		return;
	if (status == 200)
		error = join_take(j, reply, t->address.text);
	if (j->given)
		join_end(j);
	else if (status)
		join_failed(j, &t->address, "%s", error ?: "refused without a reason");
	t->told = status;
	/* The failure of a broken connection was reported when it closed. */
	if (t->conn)
		h2_conn_close(t->conn, H2_END_SILENT, "no answer in time");
}

/* ---- the members ---- */

static const char *join_on_identified(void *ctx, const char *cn)
{
	const struct join_try *t = ctx;

	return strcmp(cn, t->join->agent->config->host) ? NULL : "this is the local host";
}

static void join_on_ready(void *ctx)
{
	struct join_try *t = ctx;
	struct join *j = t->join;
	const struct roster_entry *kept = join_kept_place(j);
	const struct config *c = j->agent->config;
	char code[EH_CODE_TEXT];

	if (kept)
		eh_code_format(roster_topology(j->kept), (struct eh_code){ 0, kept->index }, code);
	else if (c->has_node)
		eh_code_format(&c->topology, c->node, code);
	if (client_request(j->agent, t->conn, t->address.text, "/v1/join",
			   own_roster_question(j->agent, kept || c->has_node ? code : NULL, false),
			   JOIN_ASK_MS, join_on_answer, t))
		h2_conn_close(t->conn, H2_END_BROKEN, "out of memory");
}

static void join_on_closed(void *ctx, enum h2_end end, const char *why, const char *cn)
{
	struct join_try *t = ctx;

	t->conn = NULL;
	if (!t->join->done && !t->told)
		join_failed(t->join, &t->address, "%s", why);
}

static const struct h2_conn_ops join_conn_ops = {
	.identified = join_on_identified,
	.ready = join_on_ready,
	.closed = join_on_closed,
};

/* Members of the configuration first, then those of the saved roster. False: no more. */
static bool join_next(struct join *j, struct address *out)
{
	const struct config *c = j->agent->config;
	const struct roster_entry *e;

	while (j->next >= c->njoin) {
		e = j->kept ? roster_at(j->kept, j->next - c->njoin) : NULL;
		if (!e)
			return false;
		j->next++;
		if (!roster_is_member(j->kept, e) || !strcmp(e->host, c->host))
			continue;
		*out = e->address;
		return true;
	}
	*out = c->join[j->next++];
	return true;
}

static void join_ask(struct join *j, const struct address *where)
{
	struct join_try *t = calloc(1, sizeof(*t));

	if (!t)
		return;
	t->join = j;
	t->address = *where;
	t->conn = h2_conn_connect(j->agent, where, JOIN_ASK_MS, &join_conn_ops, t);
	if (!t->conn) {
		join_failed(j, where, "%s", strerror(errno));
		free(t);
		return;
	}
	LL_PREPEND(j->tries, t);
}

static bool join_is_asking(struct join *j)
{
	struct join_try **at = &j->tries, *t;

	while ((t = *at)) {
		if (t->conn) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		free(t);
	}
	return j->tries;
}

static void join_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct join *j = arg;
	struct address where;
	bool asking = join_is_asking(j);

	if (join_next(j, &where)) {
		join_ask(j, &where);
		clock_arm(j->timer, JOIN_STEP_MS);
	} else if (asking) {
		clock_arm(j->timer, JOIN_STEP_MS);
	} else if (join_kept_place(j)) {
		join_end(j);
	} else {
		/* All were asked: start again with the first, later. */
		j->next = 0;
		clock_arm(j->timer, j->backoff_ms);
		j->backoff_ms = backoff_next(j->backoff_ms, JOIN_BACKOFF_MIN, JOIN_BACKOFF_MAX);
	}
}

static void join_on_patience(evutil_socket_t fd, short what, void *arg)
{
	join_end(arg);
}

/* ---- the run ---- */

static int join_settle(struct join *j, struct roster **roster)
{
	const struct roster_entry *kept = join_kept_place(j);
	char code[EH_CODE_TEXT];

	if (!j->given) {
		log_warning("no member answers (%s): using the code this host had before",
			    j->trouble);
		j->given = j->kept;
		j->kept = NULL;
		j->index = kept->index;
	}
	if (!config_adopt(j->agent->config, j->agent->config->host, roster_topology(j->given),
			  (struct eh_code){ 0, j->index }, stderr))
		return -EINVAL;
	log_info("%s is node %s", j->agent->config->host,
		 eh_code_format(&j->agent->config->topology, j->agent->config->node, code));
	*roster = j->given;
	j->given = NULL;
	return 0;
}

int join_run(struct agent *agent, struct roster **roster)
{
	struct join j = { .agent = agent, .kept = *roster, .backoff_ms = JOIN_BACKOFF_MIN };
	int err = -ENOMEM;

	*roster = NULL;
	agent->join = &j;
	j.timer = evtimer_new(agent->base, join_on_timer, &j);
	j.patience = evtimer_new(agent->base, join_on_patience, &j);
	if (!j.timer || !j.patience)
		goto free_timers;
	clock_arm(j.timer, 0);
	if (join_kept_place(&j))
		clock_arm(j.patience, JOIN_PATIENCE_MS);
	event_base_dispatch(agent->base);
	err = j.done ? join_settle(&j, roster) : -EINTR;
	j.done = true;
	for (struct join_try *t = j.tries; t; t = t->next)
		if (t->conn)
			h2_conn_free(t->conn);
	while (j.tries) {
		struct join_try *t = j.tries;

		j.tries = t->next;
		free(t);
	}
free_timers:
	agent_free_event(&j.timer);
	agent_free_event(&j.patience);
	roster_free(j.kept);
	roster_free(j.given);
	agent->join = NULL;
	return err;
}
