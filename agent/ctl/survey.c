// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/survey.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/agent.h"
#include "cluster/hierarchy.h"
#include "eh/eh.h"
#include "eh/member.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/server.h"

#define SURVEY_MS 2000 /* for each level: a history waits for its disk */
#define SURVEY_BYTES \
	(H2_JSON_MAX / 4 * 3) /* of an answer, which may not be longer than H2_JSON_MAX */

/* At a time, for one node that asks or passes on; here, for one user. */
#define SURVEY_NODE 32
#define SURVEY_USER 8

struct survey {
	struct agent *agent;
	const struct peer *by; /* it has asked, or passed on */
	uid_t uid; /* if that is this node, for whom */
	LIST_ENTRY(survey) link;
	unsigned int waits; /* answers to come, and one for the caller */
	size_t most; /* items in all, the newest ones */
	json_t *nodes;
	survey_done_fn done;
	void *ctx;
};

/* A node that leads what is below it, or (`below` 0) a node alone. */
struct survey_call {
	struct survey *of;
	struct peer *to;
	unsigned int below;
};

static size_t survey_most(const struct survey_kind *kind, const json_t *question)
{
	const json_int_t limit = json_integer_value(json_object_get(question, "limit"));

	return limit > 0 && (size_t)limit < kind->most ? (size_t)limit : kind->most;
}

/* ---- an answer is not too long ---- */

struct survey_item {
	json_int_t at;
	size_t bytes;
};

static json_int_t survey_at(const json_t *item)
{
	return json_integer_value(json_object_get(item, "at"));
}

static int survey_compare(const void *a, const void *b)
{
	const struct survey_item *x = a, *y = b;

	return x->at < y->at ? 1 : x->at > y->at ? -1 : 0;
}

static size_t survey_count(const json_t *nodes)
{
	size_t i, n = 0;
	json_t *one;

	json_array_foreach((json_t *)nodes, i, one)
		n += json_array_size(json_object_get(one, "items"));
	return n;
}

/* Whether the items of all are too many; if so, *after is the time of the first one that is. */
static bool survey_is_long(const json_t *nodes, size_t most, json_int_t *after)
{
	const size_t count = survey_count(nodes);
	struct survey_item *items = malloc((count + 1) * sizeof(*items));
	size_t i, k, n = 0, bytes = 0;
	json_t *one, *item;

	/* Of nothing, there is not too much. */
	*after = INT64_MAX;
	if (!items)
		return true;
	json_array_foreach((json_t *)nodes, i, one)
		json_array_foreach(json_object_get(one, "items"), k, item)
			items[n++] =
				(struct survey_item){ survey_at(item),
						      json_dumpb(item, NULL, 0, JSON_COMPACT) + 1 };
	qsort(items, n, sizeof(*items), survey_compare);
	for (i = 0; i < n && i < most && bytes + items[i].bytes <= SURVEY_BYTES; i++)
		bytes += items[i].bytes;
	if (i < n)
		*after = items[i].at;
	free(items);
	return i < n;
}

/* Leaves out the items of this time and before. `rest` says of when the last one of them is. */
static void survey_shorten(json_t *node, json_int_t after)
{
	json_t *items = json_object_get(node, "items"), *kept = json_array(), *item;
	const json_t *rest = json_object_get(node, "rest");
	json_int_t last = rest ? json_integer_value(rest) : INT64_MIN;
	size_t i;

	json_array_foreach(items, i, item)
		if (survey_at(item) > after)
			json_array_append(kept, item);
		else if (survey_at(item) > last)
			last = survey_at(item);
	if (json_array_size(kept) < json_array_size(items))
		json_object_set_new(node, "rest", json_integer(last));
	json_object_set_new(node, "items", kept);
}

static void survey_cut(const json_t *nodes, size_t most)
{
	json_int_t after;
	json_t *one;
	size_t i;

	if (!survey_is_long(nodes, most, &after))
		return;
	json_array_foreach((json_t *)nodes, i, one)
		if (json_object_get(one, "items"))
			survey_shorten(one, after);
}

/* ---- one survey ---- */

static bool survey_is_one_too_many(const struct agent *agent, const struct peer *by, uid_t uid)
{
	const struct survey *s;
	unsigned int n = 0;

	LIST_FOREACH(s, &agent->surveys, link)
		n += s->by == by && (!by->self || s->uid == uid);
	return n >= (by->self ? SURVEY_USER : SURVEY_NODE);
}

/* NULL: `done` has been told why. It ends when survey_release() was called this often. */
static struct survey *survey_new(struct agent *agent, const struct peer *by, uid_t uid,
				 unsigned int waits, size_t most, survey_done_fn done, void *ctx)
{
	struct survey *s;

	if (survey_is_one_too_many(agent, by, uid)) {
		done(ctx, NULL, "too many such questions are under way: try again");
		return NULL;
	}
	s = malloc(sizeof(*s));
	if (!s) {
		done(ctx, NULL, "out of memory");
		return NULL;
	}
	*s = (struct survey){ .agent = agent,
			      .by = by,
			      .uid = uid,
			      .waits = waits,
			      .most = most,
			      .nodes = json_array(),
			      .done = done,
			      .ctx = ctx };
	LIST_INSERT_HEAD(&agent->surveys, s, link);
	return s;
}

static void survey_release(struct survey *s)
{
	if (--s->waits)
		return;
	LIST_REMOVE(s, link);
	survey_cut(s->nodes, s->most);
	s->done(s->ctx, s->nodes, NULL);
	free(s);
}

static void survey_on_own(void *ctx, json_t *items, bool more, const char *why)
{
	struct survey *s = ctx;
	json_t *node = json_pack("{s:s}", "node", s->agent->code);
	const json_t *last = json_array_get(items, json_array_size(items) - 1);

	if (!items)
		json_object_set_new(node, "refused", json_string(why ?: "out of memory"));
	else
		json_object_set_new(node, "items", items);
	if (last && more)
		json_object_set_new(node, "rest", json_integer(survey_at(last)));
	json_array_append_new(s->nodes, node);
	survey_release(s);
}

/* Each node once, and only those that the asked one speaks for. */
static void survey_take(struct survey *s, const struct survey_call *call, const json_t *said)
{
	const struct eh_topology *t = &s->agent->config->topology;
	const uint32_t group = call->to->code.index >> (t->n * call->below);
	json_t *seen = json_object(), *one;
	size_t i;

	json_array_foreach((json_t *)said, i, one) {
		const char *code = json_string_value(json_object_get(one, "node"));
		const struct peer *p = code ? peers_by_text(s->agent, code) : NULL;

		if (!p || p->self || p->code.index >> (t->n * call->below) != group ||
		    json_object_get(seen, p->text))
			continue;
		json_object_set_new(seen, p->text, json_true());
		json_array_append(s->nodes, one);
	}
	json_decref(seen);
}

static void survey_on_reply(void *ctx, int status, const json_t *reply)
{
	struct survey_call *call = ctx;
	struct survey *s = call->of;

	if (status == 200)
		survey_take(s, call, json_object_get(reply, "nodes"));
	free(call);
	survey_release(s);
}

/* A node that does not answer is not among the answers. */
static void survey_ask(struct survey *s, struct peer *to, unsigned int below,
		       const json_t *question)
{
	struct survey_call *call = malloc(sizeof(*call));
	json_t *body = json_copy((json_t *)question);

	if (!call || !body)
		goto free_call;
	*call = (struct survey_call){ s, to, below };
	json_object_set_new(body, "below", json_integer(below));
	s->waits++;
	if (!link_request(to, "/v1/survey", body, SURVEY_MS * (below + 1), survey_on_reply, call))
		return;
	s->waits--;
	free(call);
	return;

free_call:
	json_decref(body);
	free(call);
}

static void survey_level(struct survey *s, unsigned int level, const json_t *question)
{
	const struct eh_topology *t = &s->agent->config->topology;

	for (unsigned int i = 0; i < 1u << t->n; i++) {
		struct eh_child child;
		struct peer *to;
		uint32_t node;

		if (eh_member_child(hierarchy_member(s->agent), level, i, &child, &node))
			continue;
		to = peers_by_code(s->agent, (struct eh_code){ 0, node });
		if (to && !to->self)
			survey_ask(s, to, level - 1, question);
	}
}

/* What this node leads up to this level. */
static void survey_below(struct survey *s, unsigned int below, const json_t *question)
{
	for (unsigned int level = 1; level <= below && level <= hierarchy_rank(s->agent); level++)
		survey_level(s, level, question);
}

/* ---- of the whole cluster ---- */

void survey_all(struct agent *agent, const struct viewer *viewer, const struct survey_kind *kind,
		json_t *question, survey_done_fn done, void *ctx)
{
	const unsigned int levels = agent->config->topology.l;
	struct peer *top = hierarchy_top(agent);
	struct survey *s = survey_new(agent, viewer->from, viewer->uid, 2,
				      survey_most(kind, question), done, ctx);

	if (!s)
		goto free_question;
	viewer_describe(viewer, question);
	json_object_set_new(question, "what", json_string(kind->what));
	if (top->self)
		survey_below(s, levels, question);
	else
		survey_ask(s, top, levels, question);
	kind->own(agent, viewer, question, survey_on_own, s);
	survey_release(s);
free_question:
	json_decref(question);
}

void survey_node(struct agent *agent, struct peer *node, const struct viewer *viewer,
		 const struct survey_kind *kind, json_t *question, survey_done_fn done, void *ctx)
{
	struct survey *s = survey_new(agent, viewer->from, viewer->uid, 1,
				      survey_most(kind, question), done, ctx);

	if (s) {
		viewer_describe(viewer, question);
		json_object_set_new(question, "what", json_string(kind->what));
		survey_ask(s, node, 0, question);
		survey_release(s);
	}
	json_decref(question);
}

json_t *survey_silent(struct agent *agent, const json_t *nodes)
{
	json_t *silent = json_array(), *answered = json_object(), *one;
	struct peer *p;
	size_t i;

	json_array_foreach((json_t *)nodes, i, one)
		json_object_set_new(answered, json_string_value(json_object_get(one, "node")) ?: "",
				    json_true());
	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p))
		if (!json_object_get(answered, p->text))
			json_array_append_new(
				silent, json_pack("{s:s,s:s}", "node", p->text, "host", p->host));
	json_decref(answered);
	return silent;
}

/* ---- of those below ---- */

static void survey_on_done(void *ctx, json_t *nodes, const char *why)
{
	if (nodes)
		server_answer(ctx, 200, json_pack("{s:o}", "nodes", nodes));
	else
		server_answer(ctx, 503, server_answer_error(why));
}

void survey_answer(struct agent *agent, struct peer *from, const struct survey_kind *kind,
		   const json_t *question, struct server_answer *answer)
{
	const json_int_t below = json_integer_value(json_object_get(question, "below"));
	char why[VIEWER_WHY];
	struct viewer viewer;
	struct survey *s;
	int err = kind ? viewer_remote(&viewer, agent, from, question, why) : -EINVAL;

	if (err == -EINVAL) {
		server_answer(answer, 400, server_answer_error("not a question of this version"));
		return;
	}
	s = survey_new(agent, from, 0, 2, survey_most(kind, question), survey_on_done, answer);
	if (!s)
		return;
	survey_below(s, below > 0 ? (unsigned int)below : 0, question);
	/* It may pass on what it is not told itself. */
	if (err)
		survey_on_own(s, NULL, false, why);
	else
		kind->own(agent, &viewer, question, survey_on_own, s);
	survey_release(s);
}
