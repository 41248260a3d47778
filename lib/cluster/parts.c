// SPDX-License-Identifier: GPL-2.0-or-later
/* A roster in parts. */

#include "cluster/parts.h"

#include <string.h>
#include <xxhash.h>

#include "cluster/roster_json.h"

#define PARTS_SUM_SHIFT 12 /* a sum is a number that is exact in any JSON */
#define PARTS_MOST ((1u << EH_BITS_MAX) / PARTS_CODES)

static bool parts_is_signed(const struct roster_entry *e)
{
	return json_object_get(e->proof, "sign");
}

/* Not of the signature: a host that signs the same again says nothing new, but with a new certificate. */
static uint64_t parts_sum_entry(const struct roster_entry *e, uint64_t h)
{
	const uint64_t numbers[] = { e->index, e->version, e->left };
	const char *cert = json_string_value(json_object_get(e->proof, "cert")) ?: "";

	h = XXH3_64bits_withSeed(numbers, sizeof(numbers), h);
	h = XXH3_64bits_withSeed(e->host, strlen(e->host), h);
	h = XXH3_64bits_withSeed(e->address.text, strlen(e->address.text), h);
	return XXH3_64bits_withSeed(cert, strlen(cert), h);
}

/* The next part that has signed entries, from entry *at on, and its sum. False: there is none. */
static bool parts_next(const struct roster *r, size_t *at, uint32_t *part, uint64_t *sum)
{
	const struct roster_entry *e;
	uint64_t h = 0;
	bool any = false;

	for (; (e = roster_at(r, *at)); (*at)++) {
		if (!parts_is_signed(e))
			continue;
		if (any && e->index / PARTS_CODES != *part)
			break;
		any = true;
		*part = e->index / PARTS_CODES;
		h = parts_sum_entry(e, h);
	}
	*sum = h >> PARTS_SUM_SHIFT;
	return any;
}

static json_t *parts_new(const struct roster *r, const char *name, json_t *value)
{
	const struct eh_topology *t = roster_topology(r);

	return json_pack("{s:{s:i,s:i},s:I,s:[],s:o}", "topology", "n", (int)t->n, "l", (int)t->l,
			 "version", (json_int_t)roster_stamp(r), "roster", name, value);
}

json_t *parts_sums(const struct roster *r)
{
	json_t *list = json_array();
	uint64_t sum;
	uint32_t part;

	for (size_t at = 0; parts_next(r, &at, &part, &sum);)
		if (json_array_append_new(list, json_integer(part)) ||
		    json_array_append_new(list, json_integer((json_int_t)sum))) {
			json_decref(list);
			return NULL;
		}
	return parts_new(r, "sums", list);
}

json_t *parts_differ(const struct roster *r, const json_t *sums, const char **why)
{
	const size_t n = json_array_size(sums);
	json_t *list = json_array();
	bool more, failed = false;
	json_int_t last = -1;
	uint32_t part = 0;
	uint64_t sum = 0;
	size_t at = 0;

	*why = "its sums are malformed";
	if (!json_is_array(sums) || n % 2)
		goto drop_list;
	more = parts_next(r, &at, &part, &sum);
	for (size_t i = 0; i < n; i += 2) {
		const json_t *theirs = json_array_get(sums, i);
		const json_int_t number = json_integer_value(theirs);

		if (!json_is_integer(theirs) || number <= last || number >= PARTS_MOST ||
		    !json_is_integer(json_array_get(sums, i + 1)))
			goto drop_list;
		last = number;
		for (; more && part < number; more = parts_next(r, &at, &part, &sum))
			failed |= json_array_append_new(list, json_integer(part)) != 0;
		if (!more || part != number ||
		    (json_int_t)sum != json_integer_value(json_array_get(sums, i + 1)))
			failed |= json_array_append_new(list, json_integer(number)) != 0;
		if (more && part == number)
			more = parts_next(r, &at, &part, &sum);
	}
	for (; more; more = parts_next(r, &at, &part, &sum))
		failed |= json_array_append_new(list, json_integer(part)) != 0;
	*why = "out of memory";
	if (!failed)
		return parts_new(r, "differ", list);
drop_list:
	json_decref(list);
	return NULL;
}

static const struct roster_entry *parts_find(const struct roster *r, uint32_t index)
{
	const struct roster_entry *e = NULL;

	for (size_t i = 0; r && (e = roster_at(r, i)) && e->index != index; i++)
		;
	return e;
}

json_t *parts_entries(const struct roster *r, uint32_t part, const struct roster *has)
{
	json_t *o = parts_new(r, "part", json_integer(part)), *list = json_object_get(o, "roster");
	const struct roster_entry *e, *other;

	for (size_t i = 0; o && (e = roster_at(r, i)); i++) {
		if (e->index / PARTS_CODES != part || !parts_is_signed(e))
			continue;
		other = parts_find(has, e->index);
		if (other && parts_sum_entry(other, 0) == parts_sum_entry(e, 0))
			continue;
		if (json_array_append_new(list, roster_entry_to_json(roster_topology(r), e))) {
			json_decref(o);
			return NULL;
		}
	}
	return o;
}

/* Bytes of it in JSON, at most. Hosts and proofs have no characters that are written as several. */
static size_t parts_size(const struct roster_entry *e)
{
	size_t n = 256 + strlen(e->host);
	const char *name;
	json_t *value;

	json_object_foreach(e->proof, name, value)
		n += json_string_length(value) + strlen(name) + 8;
	return n;
}

json_t *parts_whole(const struct roster *r, size_t most)
{
	json_t *o = parts_new(r, "whole", json_true()), *list = json_object_get(o, "roster");
	const struct roster_entry *e;
	size_t used = 256;

	for (size_t i = 0; o && (e = roster_at(r, i)); i++) {
		if (!parts_is_signed(e))
			continue;
		used += parts_size(e);
		if (used > most) {
			json_object_set_new(o, "whole", json_false());
			break;
		}
		if (json_array_append_new(list, roster_entry_to_json(roster_topology(r), e))) {
			json_decref(o);
			return NULL;
		}
	}
	return o;
}
