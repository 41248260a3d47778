// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/survey.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/agent.h"
#include "cluster/hierarchy.h"
#include "ctl/survey_answer.h"
#include "eh/eh.h"
#include "eh/member.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/server_answer.h"
#include "wire/clean.h"

#define SURVEY_MS 2000 /* for each level: a history waits for its disk */
#define SURVEY_QUESTION 16384 /* bytes */

/* Questions at a time. A controller passes on those of many nodes. */
#define SURVEY_USER 8 /* of one user of this node */
#define SURVEY_NODE 16 /* of one other node, from one that passes them on */
#define SURVEY_ASKER 32 /* that one node passes on */
#define SURVEY_CONTROLLER 256

struct survey {
	struct agent *agent;
	const struct survey_kind *kind;
	const struct peer *by, *from; /* it has asked, or passed on; the viewer's */
	uid_t uid; /* if that is this node, for whom */
	LIST_ENTRY(survey) link;
	unsigned int waits; /* answers to come, and one for the caller */
	size_t most; /* items in all, the newest ones */
	json_int_t newest; /* `at` of an item at most */
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

/* ---- one survey ---- */

static unsigned int survey_passed_on(struct agent *agent, const struct peer *by)
{
	return by == hierarchy_top(agent) || by == hierarchy_controller(agent) ? SURVEY_CONTROLLER
									       : SURVEY_ASKER;
}

static bool survey_is_one_too_many(struct agent *agent, const struct peer *by,
				   const struct viewer *viewer, const struct survey_kind *kind)
{
	unsigned int all = 0, same = 0;
	const struct survey *s;

	LIST_FOREACH(s, &agent->surveys, link) {
		if (s->by != by)
			continue;
		all++;
		same += by->self ? s->uid == viewer->uid
				 : s->from == viewer->from && s->kind == kind;
	}
	if (by->self)
		return same >= SURVEY_USER;
	return same >= (kind->slow ? kind->slow : SURVEY_NODE) ||
	       all >= survey_passed_on(agent, by);
}

/* NULL: `done` has been told why. It ends when survey_release() was called this often. */
static struct survey *survey_new(struct agent *agent, const struct peer *by,
				 const struct viewer *viewer, const struct survey_kind *kind,
				 unsigned int waits, const json_t *question, survey_done_fn done,
				 void *ctx)
{
	struct survey *s;

	if (survey_is_one_too_many(agent, by, viewer, kind)) {
		done(ctx, NULL, "too many such questions are under way: try again");
		return NULL;
	}
	s = malloc(sizeof(*s));
	if (!s) {
		done(ctx, NULL, "out of memory");
		return NULL;
	}
	*s = (struct survey){ .agent = agent,
			      .kind = kind,
			      .by = by,
			      .from = viewer->from,
			      .uid = viewer->uid,
			      .waits = waits,
			      .most = survey_most(kind, question),
			      .newest = survey_answer_newest(kind->order, question),
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
	survey_answer_cut(s->nodes, s->most, s->kind->order != SURVEY_TIME);
	s->done(s->ctx, s->nodes, NULL);
	free(s);
}

static void survey_add_refused(struct survey *s, const char *code, const char *why)
{
	char text[VIEWER_WHY];

	clean_text(text, sizeof(text), why);
	json_array_append_new(s->nodes, json_pack("{s:s,s:s}", "node", code, "refused", text));
}

static void survey_on_own(void *ctx, json_t *items, bool more, const char *why)
{
	struct survey *s = ctx;
	const json_t *last = json_array_get(items, json_array_size(items) - 1);
	json_t *node;

	if (items) {
		node = json_pack("{s:s,s:o}", "node", s->agent->code, "items", items);
		if (last && more)
			json_object_set(node, "rest", json_object_get(last, "at"));
		json_array_append_new(s->nodes, node);
	} else {
		survey_add_refused(s, s->agent->code, why ?: "out of memory");
	}
	survey_release(s);
}

/* As many items a node tells of itself before it says that there are more. */
static size_t survey_each(const struct survey *s)
{
	return s->most < s->kind->each ? s->most : s->kind->each;
}

/* Each node once, and only those that the asked one speaks for. */
static void survey_take(struct survey *s, const struct survey_call *call, const json_t *said)
{
	const struct eh_topology *t = &s->agent->config->topology;
	const uint32_t group = call->to->code.index >> (t->n * call->below);
	json_t *seen = json_object(), *nodes = json_array(), *one;
	size_t i;

	json_array_foreach((json_t *)said, i, one) {
		const char *code = json_string_value(json_object_get(one, "node"));
		const struct peer *p = code ? peers_by_text(s->agent, code) : NULL;

		if (!p || p->self || p->code.index >> (t->n * call->below) != group ||
		    json_object_get(seen, p->text))
			continue;
		json_object_set_new(seen, p->text, json_true());
		one = survey_answer_read(one, p->text, s->newest, s->kind->most);
		/* what it does not tell is not below what it tells */
		if (!call->below && survey_answer_holds_back(one, survey_each(s)))
			json_object_set_new(one, "items", json_array());
		json_array_append_new(nodes, one);
	}
	survey_answer_check_rest(nodes);
	json_array_extend(s->nodes, nodes);
	json_decref(nodes);
	json_decref(seen);
}

static void survey_on_reply(void *ctx, int status, const json_t *reply)
{
	const char *error = json_string_value(json_object_get(reply, "error"));
	struct survey_call *call = ctx;
	struct survey *s = call->of;

	if (status == 200)
		survey_take(s, call, json_object_get(reply, "nodes"));
	else if (status == 404)
		survey_add_refused(s, call->to->text, "its agent is of an earlier version");
	else if (status)
		survey_add_refused(s, call->to->text, error ?: "its agent refused");
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
	struct survey *s = survey_new(agent, viewer->from, viewer, kind, 2, question, done, ctx);

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
	struct survey *s = survey_new(agent, viewer->from, viewer, kind, 1, question, done, ctx);

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
	int err = kind && json_dumpb(question, NULL, 0, JSON_COMPACT) <= SURVEY_QUESTION
			  ? viewer_remote(&viewer, agent, from, question, why)
			  : -EINVAL;

	if (err == -EINVAL) {
		server_answer(answer, 400, server_answer_error("not a question of this version"));
		return;
	}
	s = survey_new(agent, from, &viewer, kind, 2, question, survey_on_done, answer);
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
