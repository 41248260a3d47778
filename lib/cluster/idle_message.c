// SPDX-License-Identifier: GPL-2.0-or-later
#include "idle_message.h"

#include <errno.h>
#include <string.h>

static const char *const idle_types[] = { "offer", "taken", "some", "ask", "answer", "return" };

/* ---- out ---- */

static json_t *idle_node(const struct eh_topology *t, uint32_t node)
{
	char text[EH_CODE_TEXT];

	return json_string(eh_code_format(t, (struct eh_code){ 0, node }, text));
}

static json_t *idle_number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static void idle_put_offer(json_t *to, const struct eh_idle_message *msg)
{
	const struct eh_offer *offer = &msg->offer.credits;
	const struct eh_credit_range *r = &offer->range;

	json_object_set_new(to, "life", idle_number(offer->life));
	json_object_set_new(to, "version", idle_number(offer->version));
	json_object_set_new(to, "tasks", idle_number(offer->tasks));
	json_object_set_new(to, "processors", idle_number(offer->processors));
	json_object_set_new(to, "credits",
			    json_pack("[I,I,I]", (json_int_t)r->first, (json_int_t)r->end,
				      (json_int_t)r->void_));
	json_object_set_new(to, "reign", idle_number(msg->offer.reign));
	json_object_set_new(to, "beat", json_boolean(msg->offer.beat));
}

static void idle_put_ask(const struct eh_topology *t, json_t *to, const struct eh_idle_ask *ask)
{
	json_object_set_new(to, "id", idle_number(ask->id));
	json_object_set_new(to, "home", idle_node(t, ask->home));
	json_object_set_new(to, "hold_ms", idle_number(ask->hold_ms));
	json_object_set_new(to, "tier", idle_number(ask->tier));
	json_object_set_new(to, "hops", idle_number(ask->hops));
	json_object_set_new(to, "down", json_boolean(ask->down));
	json_object_set_new(to, "missed", json_boolean(ask->missed));
}

json_t *idle_credit_to_json(const struct eh_credit *credit)
{
	return json_pack("{s:i,s:I,s:I}", "tier", (int)credit->tier, "life",
			 (json_int_t)credit->life, "serial", (json_int_t)credit->serial);
}

json_t *idle_message_to_json(const struct eh_topology *t, const struct eh_idle_message *msg)
{
	json_t *to =
		json_pack("{s:s,s:i}", "type", idle_types[msg->type], "level", (int)msg->level);

	if (!to)
		return NULL;
	switch (msg->type) {
	case EH_IDLE_OFFER:
		idle_put_offer(to, msg);
		break;
	case EH_IDLE_TAKEN:
		json_object_set_new(to, "life", idle_number(msg->taken.life));
		json_object_set_new(to, "next", idle_number(msg->taken.next));
		json_object_set_new(to, "reign", idle_number(msg->taken.reign));
		break;
	case EH_IDLE_SOME:
		json_object_set_new(to, "version", idle_number(msg->some.version));
		json_object_set_new(to, "best", idle_number(msg->some.best.tier));
		json_object_set_new(to, "count", idle_number(msg->some.best.count));
		break;
	case EH_IDLE_ASK:
		idle_put_ask(t, to, &msg->ask);
		break;
	case EH_IDLE_ANSWER:
		json_object_set_new(to, "id", idle_number(msg->answer.id));
		if (!msg->answer.found)
			break;
		json_object_set_new(to, "node", idle_node(t, msg->answer.credit.node));
		json_object_set_new(to, "credit", idle_credit_to_json(&msg->answer.credit));
		break;
	case EH_IDLE_RETURN:
		json_object_set_new(to, "node", idle_node(t, msg->credit.node));
		json_object_set_new(to, "credit", idle_credit_to_json(&msg->credit));
		break;
	}
	return to;
}

/* ---- in ---- */

/* A number 0..max that must be there. */
static int idle_take_value(const json_t *value, uint64_t max, uint64_t *out)
{
	json_int_t n = json_integer_value(value);

	if (!json_is_integer(value) || n < 0 || (uint64_t)n > max)
		return -EINVAL;
	*out = (uint64_t)n;
	return 0;
}

static int idle_take(const json_t *json, const char *name, uint64_t max, uint64_t *out)
{
	return idle_take_value(json_object_get(json, name), max, out);
}

static int idle_take_small(const json_t *json, const char *name, unsigned int max,
			   unsigned int *out)
{
	uint64_t value;

	if (idle_take(json, name, max, &value))
		return -EINVAL;
	*out = (unsigned int)value;
	return 0;
}

/* All 64 bits count: an id, or a set of bits. */
static int idle_take_bits(const json_t *value, uint64_t *out)
{
	*out = (uint64_t)json_integer_value(value);
	return json_is_integer(value) ? 0 : -EINVAL;
}

static bool idle_flag(const json_t *json, const char *name)
{
	return json_is_true(json_object_get(json, name));
}

static int idle_take_node(const struct eh_topology *t, const json_t *json, const char *name,
			  uint32_t *out)
{
	const char *text = json_string_value(json_object_get(json, name));
	struct eh_code code;

	if (!text || eh_code_parse(t, text, &code) || code.level)
		return -EINVAL;
	*out = code.index;
	return 0;
}

static int idle_take_offer(const json_t *json, struct eh_idle_message *msg)
{
	const json_t *credits = json_object_get(json, "credits");
	struct eh_offer *offer = &msg->offer.credits;
	struct eh_credit_range *r = &offer->range;

	msg->offer.beat = idle_flag(json, "beat");
	return idle_take(json, "life", IDLE_LIFE_MAX, &offer->life) ||
			       idle_take(json, "version", IDLE_NUMBER_MAX, &offer->version) ||
			       idle_take(json, "reign", IDLE_NUMBER_MAX, &msg->offer.reign) ||
			       idle_take_small(json, "tasks", UINT32_MAX, &offer->tasks) ||
			       idle_take_small(json, "processors", UINT32_MAX,
					       &offer->processors) ||
			       idle_take_value(json_array_get(credits, 0), IDLE_NUMBER_MAX,
					       &r->first) ||
			       idle_take_value(json_array_get(credits, 1), IDLE_NUMBER_MAX,
					       &r->end) ||
			       idle_take_bits(json_array_get(credits, 2), &r->void_)
		       ? -EINVAL
		       : 0;
}

static int idle_take_taken(const json_t *json, struct eh_idle_message *msg)
{
	return idle_take(json, "life", IDLE_LIFE_MAX, &msg->taken.life) ||
			       idle_take(json, "next", IDLE_NUMBER_MAX, &msg->taken.next) ||
			       idle_take(json, "reign", IDLE_NUMBER_MAX, &msg->taken.reign)
		       ? -EINVAL
		       : 0;
}

static int idle_take_some(const json_t *json, struct eh_idle_message *msg)
{
	return idle_take(json, "version", IDLE_NUMBER_MAX, &msg->some.version) ||
			       idle_take_small(json, "best", EH_TIERS, &msg->some.best.tier) ||
			       idle_take_small(json, "count", EH_MANY, &msg->some.best.count)
		       ? -EINVAL
		       : 0;
}

static int idle_take_ask(const struct eh_topology *t, const json_t *json, struct eh_idle_ask *ask)
{
	unsigned int hold;

	if (idle_take_bits(json_object_get(json, "id"), &ask->id) ||
	    idle_take_node(t, json, "home", &ask->home) ||
	    idle_take_small(json, "hold_ms", IDLE_HOLD_MAX_MS, &hold) ||
	    idle_take_small(json, "tier", EH_TIERS - 1, &ask->tier) ||
	    idle_take_small(json, "hops", EH_IDLE_HOPS_MAX, &ask->hops))
		return -EINVAL;
	ask->hold_ms = hold;
	ask->down = idle_flag(json, "down");
	ask->missed = idle_flag(json, "missed");
	return 0;
}

int idle_credit_from_json(const json_t *json, uint32_t node, struct eh_credit *out)
{
	*out = (struct eh_credit){ .node = node };
	return idle_take_small(json, "tier", EH_TIERS - 1, &out->tier) ||
			       idle_take(json, "life", IDLE_LIFE_MAX, &out->life) ||
			       idle_take(json, "serial", IDLE_NUMBER_MAX, &out->serial)
		       ? -EINVAL
		       : 0;
}

static int idle_take_credit(const struct eh_topology *t, const json_t *json, struct eh_credit *out)
{
	uint32_t node;

	if (idle_take_node(t, json, "node", &node))
		return -EINVAL;
	return idle_credit_from_json(json_object_get(json, "credit"), node, out);
}

static int idle_type(const json_t *json)
{
	const char *word = json_string_value(json_object_get(json, "type"));

	for (size_t i = 0; word && i < sizeof(idle_types) / sizeof(idle_types[0]); i++)
		if (!strcmp(word, idle_types[i]))
			return (int)i;
	return -EINVAL;
}

int idle_message_from_json(const struct eh_topology *t, const json_t *json,
			   struct eh_idle_message *out)
{
	int type = idle_type(json);

	memset(out, 0, sizeof(*out));
	if (type < 0 || idle_take_small(json, "level", t->l, &out->level))
		return -EINVAL;
	out->type = (enum eh_idle_message_type)type;
	switch (out->type) {
	case EH_IDLE_OFFER:
		return idle_take_offer(json, out);
	case EH_IDLE_TAKEN:
		return idle_take_taken(json, out);
	case EH_IDLE_SOME:
		return idle_take_some(json, out);
	case EH_IDLE_ASK:
		return idle_take_ask(t, json, &out->ask);
	case EH_IDLE_ANSWER:
		if (idle_take_bits(json_object_get(json, "id"), &out->answer.id))
			return -EINVAL;
		out->answer.found = json_object_get(json, "credit");
		return out->answer.found ? idle_take_credit(t, json, &out->answer.credit) : 0;
	case EH_IDLE_RETURN:
		return idle_take_credit(t, json, &out->credit);
	}
	return -EINVAL;
}
