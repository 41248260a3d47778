// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages of the hierarchy as JSON. What a type has no use for is left out, and zero when read;
 * so are `dwell` and `leaves` where they are false.
 */

#include "message.h"

#include <errno.h>
#include <string.h>

static const char *const message_whys[] = { "sender", "not-sender", "no-receiver",
					    "no-controller" };

/* ---- out ---- */

static json_t *message_node(const struct eh_topology *t, uint32_t node)
{
	char text[EH_CODE_TEXT];

	if (node == EH_NO_NODE)
		return json_null();
	return json_string(eh_code_format(t, (struct eh_code){ 0, node }, text));
}

static json_t *message_number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *message_nodes(const struct eh_topology *t, const uint32_t *nodes, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, message_node(t, nodes[i]));
	return list;
}

static void message_put_dwell(json_t *to, bool dwell)
{
	if (dwell)
		json_object_set_new(to, "dwell", json_true());
}

static json_t *message_candidate(const struct eh_topology *t, const struct eh_candidate *c)
{
	json_t *to = json_pack("{s:o,s:I,s:I,s:I}", "node", message_node(t, c->node), "load",
			       (json_int_t)c->load, "threshold", (json_int_t)c->threshold, "length",
			       (json_int_t)c->length);

	message_put_dwell(to, c->dwell);
	return to;
}

static void message_put_report(const struct eh_topology *t, json_t *to,
			       const struct eh_message_report *msg)
{
	const struct eh_report *r = &msg->own;
	json_t *best = json_array(), *seen = json_array();

	for (size_t i = 0; i < msg->nbest; i++)
		json_array_append_new(best, message_candidate(t, &msg->best[i]));
	for (size_t i = 0; i < msg->nseen; i++)
		json_array_append_new(seen, message_number(msg->seen[i]));
	json_object_set_new(to, "load", message_number(r->load));
	json_object_set_new(to, "threshold", message_number(r->threshold));
	json_object_set_new(to, "length", message_number(r->length));
	json_object_set_new(to, "floor", message_number(r->floor));
	json_object_set_new(to, "capacity", message_number(r->capacity));
	json_object_set_new(to, "nodes", message_number(r->nodes));
	json_object_set_new(to, "draining", json_boolean(r->draining));
	message_put_dwell(to, r->dwell);
	json_object_set_new(to, "best", best);
	json_object_set_new(to, "seen", seen);
}

static void message_put_ask(const struct eh_topology *t, json_t *to,
			    const struct eh_message_ask *ask)
{
	const struct eh_report *h = &ask->at_home;
	json_t *path = json_array(), *home;

	for (size_t i = 0; i < ask->npath; i++)
		json_array_append_new(path,
				      json_pack("{s:i,s:o,s:s}", "level", (int)ask->path[i].level,
						"node", message_node(t, ask->path[i].node), "state",
						eh_state_names[ask->path[i].state]));
	json_object_set_new(to, "id", message_number(ask->id));
	json_object_set_new(to, "size", message_number(ask->size));
	if (ask->leaves)
		json_object_set_new(to, "leaves", json_true());
	json_object_set_new(to, "home", message_node(t, ask->home));
	home = json_pack("{s:I,s:I,s:I,s:I,s:I}", "load", (json_int_t)h->load, "threshold",
			 (json_int_t)h->threshold, "length", (json_int_t)h->length, "floor",
			 (json_int_t)h->floor, "capacity", (json_int_t)h->capacity);
	message_put_dwell(home, h->dwell);
	json_object_set_new(to, "at_home", home);
	json_object_set_new(to, "tried", message_nodes(t, ask->tried, ask->ntried));
	json_object_set_new(to, "route", message_nodes(t, ask->route, ask->nroute));
	json_object_set_new(to, "probes", message_number(ask->probes));
	json_object_set_new(to, "path", path);
}

json_t *message_to_json(const struct eh_topology *t, const struct eh_message *msg)
{
	json_t *to = json_pack("{s:s,s:i}", "type", eh_message_name(msg->type), "level",
			       (int)msg->level);

	if (!to)
		return NULL;
	if (msg->rule.capacity)
		json_object_set_new(to, "rule",
				    json_pack("{s:I,s:I,s:I}", "epoch", (json_int_t)msg->rule.epoch,
					      "load", (json_int_t)msg->rule.load, "capacity",
					      (json_int_t)msg->rule.capacity));
	switch (msg->type) {
	case EH_MSG_REPORT:
		message_put_report(t, to, &msg->report);
		break;
	case EH_MSG_REDIRECT:
		json_object_set_new(to, "to", message_node(t, msg->redirect.to));
		break;
	case EH_MSG_ASK:
		message_put_ask(t, to, &msg->ask);
		break;
	case EH_MSG_ANSWER:
		message_put_ask(t, to, &msg->answer.ask);
		json_object_set_new(to, "why", json_string(message_whys[msg->answer.why]));
		json_object_set_new(to, "to", message_node(t, msg->answer.to));
		break;
	case EH_MSG_FAILED:
		json_object_set_new(to, "id", message_number(msg->failed.id));
		json_object_set_new(to, "to", message_node(t, msg->failed.to));
		break;
	default:
		break;
	}
	return to;
}

/* ---- in ---- */

/* One of these names, or -EINVAL. */
static int message_word(const json_t *json, const char *const *words, size_t n)
{
	const char *word = json_string_value(json);

	for (size_t i = 0; word && i < n; i++)
		if (!strcmp(word, words[i]))
			return i;
	return -EINVAL;
}
#define MESSAGE_WORD(json, words) message_word(json, words, sizeof(words) / sizeof((words)[0]))

static int message_type(const json_t *json)
{
	const char *word = json_string_value(json);

	for (int type = 0; word && type < EH_MSG_TYPES; type++)
		if (!strcmp(word, eh_message_name(type)))
			return type;
	return -EINVAL;
}

/* A number 0..max; absent is 0. */
static int message_take(const json_t *json, const char *name, uint64_t max, uint64_t *out)
{
	const json_t *value = json_object_get(json, name);

	*out = json_integer_value(value);
	if (value && (!json_is_integer(value) || json_integer_value(value) < 0 || *out > max))
		return -EINVAL;
	return 0;
}

static int message_take_node(const struct eh_topology *t, const json_t *json, uint32_t *out)
{
	const char *text = json_string_value(json);
	struct eh_code code;

	*out = EH_NO_NODE;
	if (!json || json_is_null(json))
		return 0;
	if (!text || eh_code_parse(t, text, &code) || code.level)
		return -EINVAL;
	*out = code.index;
	return 0;
}

static int message_take_nodes(const struct eh_topology *t, const json_t *list, size_t max,
			      uint32_t *out, size_t *n)
{
	const json_t *node;
	size_t i;

	*n = json_array_size(list);
	if ((list && !json_is_array(list)) || *n > max)
		return -EINVAL;
	json_array_foreach((json_t *)list, i, node)
		if (message_take_node(t, node, &out[i]) || out[i] == EH_NO_NODE)
			return -EINVAL;
	return 0;
}

static bool message_take_dwell(const json_t *json)
{
	return json_is_true(json_object_get(json, "dwell"));
}

static int message_take_report(const struct eh_topology *t, const json_t *json, struct message *out)
{
	struct eh_message_report *msg = &out->body.report;
	struct eh_report *r = &msg->own;
	const json_t *best = json_object_get(json, "best"), *seen = json_object_get(json, "seen");
	const json_t *item;
	uint64_t nodes;
	size_t i;

	if (message_take(json, "load", EH_VALUE_MAX, &r->load) ||
	    message_take(json, "threshold", EH_VALUE_MAX, &r->threshold) ||
	    message_take(json, "length", EH_VALUE_MAX, &r->length) ||
	    message_take(json, "floor", EH_VALUE_MAX, &r->floor) ||
	    message_take(json, "capacity", EH_VALUE_MAX, &r->capacity) ||
	    message_take(json, "nodes", UINT32_MAX, &nodes) || !r->capacity || !nodes)
		return -EINVAL;
	r->nodes = nodes;
	r->draining = json_is_true(json_object_get(json, "draining"));
	r->dwell = message_take_dwell(json);
	msg->nbest = json_array_size(best);
	msg->nseen = json_array_size(seen);
	if (msg->nbest > EH_BEST_MAX || msg->nseen > EH_SEEN_MAX)
		return -EINVAL;
	json_array_foreach((json_t *)best, i, item) {
		struct eh_candidate *c = &msg->best[i];

		if (message_take_node(t, json_object_get(item, "node"), &c->node) ||
		    c->node == EH_NO_NODE || message_take(item, "load", EH_VALUE_MAX, &c->load) ||
		    message_take(item, "threshold", EH_VALUE_MAX, &c->threshold) ||
		    message_take(item, "length", EH_VALUE_MAX, &c->length))
			return -EINVAL;
		c->dwell = message_take_dwell(item);
	}
	json_array_foreach((json_t *)seen, i, item) {
		if (!json_is_integer(item))
			return -EINVAL;
		out->seen[i] = json_integer_value(item);
	}
	msg->seen = out->seen;
	return 0;
}

static int message_take_id(const json_t *json, uint64_t *out)
{
	const json_t *id = json_object_get(json, "id");

	if (!json_is_integer(id))
		return -EINVAL;
	*out = json_integer_value(id);
	return 0;
}

static int message_take_ask(const struct eh_topology *t, const json_t *json,
			    struct eh_message_ask *ask)
{
	const json_t *home = json_object_get(json, "at_home");
	const json_t *path = json_object_get(json, "path"), *item;
	uint64_t probes, level;
	size_t i;

	if (message_take_id(json, &ask->id) ||
	    message_take(json, "size", EH_VALUE_MAX, &ask->size) ||
	    message_take_node(t, json_object_get(json, "home"), &ask->home) ||
	    message_take(home, "load", EH_VALUE_MAX, &ask->at_home.load) ||
	    message_take(home, "threshold", EH_VALUE_MAX, &ask->at_home.threshold) ||
	    message_take(home, "length", EH_VALUE_MAX, &ask->at_home.length) ||
	    message_take(home, "floor", EH_VALUE_MAX, &ask->at_home.floor) ||
	    message_take(home, "capacity", EH_VALUE_MAX, &ask->at_home.capacity) ||
	    message_take(json, "probes", UINT32_MAX, &probes) ||
	    message_take_nodes(t, json_object_get(json, "tried"), EH_TRIED_MAX, ask->tried,
			       &ask->ntried) ||
	    message_take_nodes(t, json_object_get(json, "route"), EH_ROUTE_MAX, ask->route,
			       &ask->nroute))
		return -EINVAL;
	ask->leaves = json_is_true(json_object_get(json, "leaves"));
	ask->at_home.dwell = message_take_dwell(home);
	ask->at_home.nodes = 1;
	ask->probes = probes;
	ask->npath = json_array_size(path);
	if (ask->npath > EH_ROUTE_MAX)
		return -EINVAL;
	json_array_foreach((json_t *)path, i, item) {
		int state = MESSAGE_WORD(json_object_get(item, "state"), eh_state_names);

		if (state < 0 || message_take(item, "level", EH_LEVELS_MAX, &level) ||
		    message_take_node(t, json_object_get(item, "node"), &ask->path[i].node) ||
		    ask->path[i].node == EH_NO_NODE)
			return -EINVAL;
		ask->path[i].level = level;
		ask->path[i].state = state;
	}
	return 0;
}

static int message_take_answer(const struct eh_topology *t, const json_t *json, uint32_t to,
			       struct eh_message_answer *answer)
{
	int why = MESSAGE_WORD(json_object_get(json, "why"), message_whys);

	if (why < 0)
		return -EINVAL;
	answer->to = to;
	answer->why = why;
	return message_take_ask(t, json, &answer->ask);
}

int message_from_json(const struct eh_topology *t, const json_t *json, struct message *out)
{
	const json_t *rule = json_object_get(json, "rule");
	int type = message_type(json_object_get(json, "type"));
	struct eh_message *msg = &out->body;
	uint64_t level;
	uint32_t to;

	memset(msg, 0, sizeof(*msg));
	if (type < 0 || message_take(json, "level", EH_LEVELS_MAX, &level) ||
	    message_take(rule, "epoch", EH_EPOCH_MAX, &msg->rule.epoch) ||
	    message_take(rule, "load", EH_VALUE_MAX, &msg->rule.load) ||
	    message_take(rule, "capacity", EH_VALUE_MAX, &msg->rule.capacity) ||
	    message_take_node(t, json_object_get(json, "to"), &to))
		return -EINVAL;
	msg->type = type;
	msg->level = level;
	switch (msg->type) {
	case EH_MSG_REPORT:
		return message_take_report(t, json, out);
	case EH_MSG_REDIRECT:
		msg->redirect.to = to;
		return 0;
	case EH_MSG_ASK:
		return message_take_ask(t, json, &msg->ask);
	case EH_MSG_ANSWER:
		return message_take_answer(t, json, to, &msg->answer);
	case EH_MSG_FAILED:
		msg->failed.to = to;
		return message_take_id(json, &msg->failed.id);
	default:
		return 0;
	}
}
