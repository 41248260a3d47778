// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages of the hierarchy as JSON. What a type has no use for is left out, and zero when read;
 * so is `dwell` where it is false.
 */

#include <errno.h>
#include <string.h>

#include "message.h"

static const char *const message_whys[] = { "sender", "not-sender", "no-receiver",
					    "no-controller" };
static const char *const message_states[] = { "receiver", "ok", "sender" };

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
			       const struct eh_message *msg)
{
	const struct eh_report *r = &msg->report;
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

static void message_put_ask(const struct eh_topology *t, json_t *to, const struct eh_message *msg)
{
	const struct eh_home *h = &msg->at_home;
	json_t *path = json_array(), *home;

	for (size_t i = 0; i < msg->npath; i++)
		json_array_append_new(path,
				      json_pack("{s:i,s:o,s:s}", "level", (int)msg->path[i].level,
						"node", message_node(t, msg->path[i].node), "state",
						message_states[msg->path[i].state]));
	json_object_set_new(to, "size", message_number(msg->size));
	json_object_set_new(to, "home", message_node(t, msg->home));
	home = json_pack("{s:I,s:I,s:I,s:I,s:I}", "load", (json_int_t)h->load, "threshold",
			 (json_int_t)h->threshold, "length", (json_int_t)h->length, "floor",
			 (json_int_t)h->floor, "capacity", (json_int_t)h->capacity);
	message_put_dwell(home, h->dwell);
	json_object_set_new(to, "at_home", home);
	json_object_set_new(to, "tried", message_nodes(t, msg->tried, msg->ntried));
	json_object_set_new(to, "route", message_nodes(t, msg->route, msg->nroute));
	json_object_set_new(to, "probes", message_number(msg->probes));
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
	if (msg->type == EH_MSG_REPORT)
		message_put_report(t, to, msg);
	if (msg->type == EH_MSG_ASK || msg->type == EH_MSG_ANSWER)
		message_put_ask(t, to, msg);
	if (msg->type == EH_MSG_ANSWER)
		json_object_set_new(to, "why", json_string(message_whys[msg->why]));
	if (msg->type >= EH_MSG_ASK)
		json_object_set_new(to, "id", message_number(msg->id));
	if (msg->type == EH_MSG_REDIRECT || msg->type == EH_MSG_ANSWER ||
	    msg->type == EH_MSG_FAILED)
		json_object_set_new(to, "to", message_node(t, msg->to));
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
	struct eh_report *r = &out->body.report;
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
	out->body.nbest = json_array_size(best);
	out->body.nseen = json_array_size(seen);
	if (out->body.nbest > EH_BEST_MAX || out->body.nseen > EH_SEEN_MAX)
		return -EINVAL;
	json_array_foreach((json_t *)best, i, item) {
		struct eh_candidate *c = &out->body.best[i];

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
	out->body.seen = out->seen;
	return 0;
}

static int message_take_ask(const struct eh_topology *t, const json_t *json, struct eh_message *msg)
{
	const json_t *home = json_object_get(json, "at_home");
	const json_t *path = json_object_get(json, "path"), *item;
	uint64_t probes, level;
	size_t i;

	if (message_take(json, "size", EH_VALUE_MAX, &msg->size) ||
	    message_take_node(t, json_object_get(json, "home"), &msg->home) ||
	    message_take(home, "load", EH_VALUE_MAX, &msg->at_home.load) ||
	    message_take(home, "threshold", EH_VALUE_MAX, &msg->at_home.threshold) ||
	    message_take(home, "length", EH_VALUE_MAX, &msg->at_home.length) ||
	    message_take(home, "floor", EH_VALUE_MAX, &msg->at_home.floor) ||
	    message_take(home, "capacity", EH_VALUE_MAX, &msg->at_home.capacity) ||
	    message_take(json, "probes", UINT32_MAX, &probes) ||
	    message_take_nodes(t, json_object_get(json, "tried"), EH_TRIED_MAX, msg->tried,
			       &msg->ntried) ||
	    message_take_nodes(t, json_object_get(json, "route"), EH_ROUTE_MAX, msg->route,
			       &msg->nroute))
		return -EINVAL;
	msg->at_home.dwell = message_take_dwell(home);
	msg->probes = probes;
	msg->npath = json_array_size(path);
	if (msg->npath > EH_ROUTE_MAX)
		return -EINVAL;
	json_array_foreach((json_t *)path, i, item) {
		int state = MESSAGE_WORD(json_object_get(item, "state"), message_states);

		if (state < 0 || message_take(item, "level", EH_LEVELS_MAX, &level) ||
		    message_take_node(t, json_object_get(item, "node"), &msg->path[i].node) ||
		    msg->path[i].node == EH_NO_NODE)
			return -EINVAL;
		msg->path[i].level = level;
		msg->path[i].state = state;
	}
	return 0;
}

int message_from_json(const struct eh_topology *t, const json_t *json, struct message *out)
{
	const json_t *rule = json_object_get(json, "rule");
	int type = message_type(json_object_get(json, "type"));
	struct eh_message *msg = &out->body;
	const json_t *id = json_object_get(json, "id");
	uint64_t level;

	memset(msg, 0, sizeof(*msg));
	if (type < 0 || message_take(json, "level", EH_LEVELS_MAX, &level) ||
	    message_take(rule, "epoch", INT64_MAX, &msg->rule.epoch) ||
	    message_take(rule, "load", EH_VALUE_MAX, &msg->rule.load) ||
	    message_take(rule, "capacity", INT64_MAX, &msg->rule.capacity) ||
	    message_take_node(t, json_object_get(json, "to"), &msg->to))
		return -EINVAL;
	msg->type = type;
	msg->level = level;
	if (msg->type >= EH_MSG_ASK) {
		if (!json_is_integer(id))
			return -EINVAL;
		msg->id = json_integer_value(id);
	}
	if (msg->type == EH_MSG_REPORT)
		return message_take_report(t, json, out);
	if (msg->type == EH_MSG_ANSWER) {
		int why = MESSAGE_WORD(json_object_get(json, "why"), message_whys);

		if (why < 0)
			return -EINVAL;
		msg->why = why;
	}
	if (msg->type == EH_MSG_ASK || msg->type == EH_MSG_ANSWER)
		return message_take_ask(t, json, msg);
	return 0;
}
