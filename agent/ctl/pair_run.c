// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/pair_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/directory.h"
#include "base/user.h"
#include "ctl/pair_probe.h"
#include "ctl/tasks.h"
#include "executor/admit.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/server_answer.h"

#define PAIR_RUN_AT_ONCE 8
#define PAIR_RUN_NAME_MS 2000 /* for each name; if one takes longer, no other is asked for */
#define PAIR_RUN_LOOK_MS 10
#define PAIR_RUN_A_MINUTE 20 /* for one other node */

struct pair_run {
	struct agent *agent;
	struct peer *nodes[PAIR_RUN_NODES];
	unsigned int n, next; /* the next one to test */
	struct pair_probe *probes[PAIR_RUN_AT_ONCE];
	struct peer *of[PAIR_RUN_AT_ONCE];
	unsigned int active;
	struct event *timer;
	uint64_t began, asked; /* ms; for the name of the next one */
	bool nameless; /* names are not asked for any more */
	bool for_others; /* a node that may not learn which users there are */
	json_t *users, *pairs;
	bool caller; /* the first of the users is who asked */
	pair_run_fn done;
	void *ctx;
};

static void pair_run_pump(struct pair_run *r);

static void pair_run_end(struct pair_run *r, const char *why)
{
	json_t *answer = why ? server_answer_error(why) : json_pack("{s:O}", "pairs", r->pairs);

	r->agent->pair_run = NULL;
	for (unsigned int i = 0; i < PAIR_RUN_AT_ONCE; i++)
		if (r->probes[i])
			pair_probe_free(r->probes[i]);
	r->done(r->ctx, why ? 503 : 200, answer);
	event_free(r->timer);
	json_decref(r->users);
	json_decref(r->pairs);
	free(r);
}

/* The caller's name is known to who asked; the others' is told to this node's own operators. */
static void pair_run_add_users(const struct pair_run *r, json_t *facts)
{
	json_t *unknown = json_object_get(facts, "unknown"), *one, *texts = json_array();
	json_int_t others = 0;
	size_t i;

	json_array_foreach(unknown, i, one) {
		const bool is_caller =
			r->caller && !json_integer_value(json_object_get(one, "user"));

		if (r->for_others && !is_caller)
			others++;
		else
			json_array_append(texts, json_object_get(one, "text"));
	}
	json_object_set_new(facts, "unknown_users", texts);
	json_object_set_new(facts, "unknown_others", json_integer(others));
	if (json_array_size(r->users))
		json_object_set_new(facts, "users_tested", json_boolean(unknown));
	json_object_del(facts, "unknown");
}

static void pair_run_on_probe(void *ctx, struct peer *to, json_t *facts)
{
	struct pair_run *r = ctx;

	for (unsigned int i = 0; i < PAIR_RUN_AT_ONCE; i++)
		if (r->of[i] == to)
			r->probes[i] = NULL, r->of[i] = NULL;
	r->active--;
	if (facts) {
		pair_run_add_users(r, facts);
		json_object_set_new(facts, "node", json_string(peer_code(to)));
		if (r->nameless && !json_object_get(facts, "addresses"))
			json_object_set_new(facts, "addresses", json_null());
		json_array_append_new(r->pairs, facts);
	}
	pair_run_pump(r);
}

static void pair_run_start(struct pair_run *r, const struct directory_answer *host)
{
	struct peer *to = r->nodes[r->next++];
	unsigned int i = 0;

	r->asked = 0;
	while (r->probes[i])
		i++;
	r->probes[i] = pair_probe_new(to, r->users, host, pair_run_on_probe, r);
	if (!r->probes[i])
		return;
	r->of[i] = to;
	r->active++;
}

/* Whether the next one can be tested: its name was looked up, or is not. */
static bool pair_run_look(struct pair_run *r, const struct directory_answer **host)
{
	const uint64_t now = clock_ms();
	int err;

	*host = NULL;
	if (r->nameless)
		return true;
	r->asked = r->asked ?: now;
	err = directory_addresses(peer_host(r->nodes[r->next]), host);
	if (err != -EAGAIN)
		return true;
	if (now - r->asked > PAIR_RUN_NAME_MS) {
		r->nameless = true;
		return true;
	}
	clock_arm(r->timer, PAIR_RUN_LOOK_MS);
	return false;
}

static void pair_run_pump(struct pair_run *r)
{
	const struct directory_answer *host;

	while (r->next < r->n && r->active < PAIR_RUN_AT_ONCE &&
	       clock_ms() - r->began < PAIR_RUN_MS) {
		if (!pair_run_look(r, &host))
			return;
		pair_run_start(r, host);
	}
	if (!r->active)
		pair_run_end(r, NULL);
}

static void pair_run_on_timer(evutil_socket_t fd, short what, void *arg)
{
	pair_run_pump(arg);
}

/* ---- begin ---- */

static bool pair_run_has(const json_t *users, uid_t uid)
{
	const json_t *one;
	size_t i;

	json_array_foreach((json_t *)users, i, one)
		if (json_integer_value(json_array_get(one, 0)) == uid)
			return true;
	return false;
}

static void pair_run_add_user(json_t *users, uid_t uid)
{
	const char *name = uid && !pair_run_has(users, uid) ? user_name(uid) : NULL;

	if (name && json_array_size(users) < ADMIT_USERS)
		json_array_append_new(users, json_pack("[I,s]", (json_int_t)uid, name));
}

/* The user who has asked, if it is the same one here, and those who have tasks of this node. */
static void pair_run_find_users(struct pair_run *r, const json_t *caller)
{
	const char *name = json_string_value(json_array_get(caller, 1));
	const json_int_t uid = json_integer_value(json_array_get(caller, 0));
	uid_t uids[ADMIT_USERS];
	const char *here = name && uid > 0 && uid < UINT32_MAX ? user_name(uid) : NULL;
	unsigned int n = tasks_users(r->agent, uids, ADMIT_USERS);

	if (here && !strcmp(here, name)) {
		pair_run_add_user(r->users, uid);
		r->caller = json_array_size(r->users);
	}
	for (unsigned int i = 0; i < n; i++)
		pair_run_add_user(r->users, uids[i]);
}

/* False: malformed. */
static bool pair_run_find_nodes(struct pair_run *r, const json_t *nodes)
{
	const json_t *one;
	size_t i;

	if (!json_is_array(nodes) || json_array_size(nodes) > PAIR_RUN_NODES)
		return false;
	json_array_foreach((json_t *)nodes, i, one) {
		const char *code = json_string_value(one);
		struct peer *p = code ? peers_by_text(r->agent, code) : NULL;

		if (!code)
			return false;
		for (unsigned int k = 0; p && k < r->n; k++)
			if (r->nodes[k] == p)
				p = NULL;
		/* one that is not known here has no facts */
		if (p && !p->self)
			r->nodes[r->n++] = p;
	}
	return true;
}

static void pair_run_begin(struct agent *agent, const json_t *body, bool for_others,
			   pair_run_fn done, void *ctx)
{
	const char *why = "out of memory";
	struct pair_run *r;
	int status = 503;

	if (agent->pair_run) {
		done(ctx, 503,
		     server_answer_error("it tests for another node just now: try again"));
		return;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		goto refuse;
	r->agent = agent;
	r->for_others = for_others;
	r->began = clock_ms();
	r->done = done;
	r->ctx = ctx;
	r->users = json_array();
	r->pairs = json_array();
	r->timer = evtimer_new(agent->base, pair_run_on_timer, r);
	if (!r->users || !r->pairs || !r->timer)
		goto free_run;
	if (!pair_run_find_nodes(r, json_object_get(body, "nodes"))) {
		status = 400;
		why = "nodes is missing or malformed";
		goto free_run;
	}
	pair_run_find_users(r, json_object_get(body, "user"));
	agent->pair_run = r;
	pair_run_pump(r);
	return;

free_run:
	agent_free_event(&r->timer);
	json_decref(r->users);
	json_decref(r->pairs);
	free(r);
refuse:
	done(ctx, status, server_answer_error(why));
}

void pair_run_own(struct agent *agent, const json_t *body, pair_run_fn done, void *ctx)
{
	pair_run_begin(agent, body, false, done, ctx);
}

static void pair_run_on_end(void *ctx, int status, json_t *answer)
{
	server_answer(ctx, status, answer);
}

/* It costs as many handshakes as there are nodes, on both sides of each. */
static bool pair_run_may(struct peer *from)
{
	const uint64_t now = clock_ms();

	if (now - from->runs_since > 60000 || !from->runs_since) {
		from->runs_since = now;
		from->runs = 0;
	}
	return ++from->runs <= PAIR_RUN_A_MINUTE;
}

void pair_run_on_request(struct agent *agent, struct peer *from, const json_t *body,
			 struct server_answer *answer)
{
	if (pair_run_may(from))
		pair_run_begin(agent, body, true, pair_run_on_end, answer);
	else
		server_answer(
			answer, 429,
			server_answer_error("it has tested for this node 20 times in a minute: "
					    "try again later"));
}

void pair_run_exit(struct agent *agent)
{
	if (agent->pair_run)
		pair_run_end(agent->pair_run, "its agent ends");
}
