// SPDX-License-Identifier: GPL-2.0-or-later
#include "roster_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roster_inside.h"

json_t *roster_entry_to_json(const struct eh_topology *topology, const struct roster_entry *e)
{
	char code[EH_CODE_TEXT];
	json_t *o;

	eh_code_format(topology, (struct eh_code){ 0, e->index }, code);
	o = json_pack("{s:s,s:s,s:s,s:I}", "code", code, "host", e->host, "address",
		      e->address.text, "version", (json_int_t)e->version);
	if (o && ((e->left && json_object_set_new(o, "left", json_true())) ||
		  (e->proof && json_object_update(o, e->proof)))) {
		json_decref(o);
		return NULL;
	}
	return o;
}

json_t *roster_to_json(const struct roster *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n; i++)
		if (json_array_append_new(list, roster_entry_to_json(&r->topology, &r->entries[i])))
			goto drop_list;
	return json_pack("{s:{s:i,s:i},s:I,s:o}", "topology", "n", (int)r->topology.n, "l",
			 (int)r->topology.l, "version", (json_int_t)roster_stamp(r), "roster",
			 list);

drop_list:
	json_decref(list);
	return NULL;
}

static const char *roster_proof_from_json(const json_t *o, json_t **proof)
{
	static const struct {
		const char *name;
		size_t most;
	} members[] = {
		{ "cert", ROSTER_CERT_MAX },
		{ "sign", ROSTER_SIGN_MAX },
		{ "by", ADDRESS_HOST_MAX },
		{ "grant", ROSTER_SIGN_MAX },
	};
	const char *text;
	json_t *one;

	*proof = NULL;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		one = json_object_get(o, members[i].name);
		text = json_string_value(one);
		if (one && (!text || strlen(text) > members[i].most))
			return "what proves an entry is malformed";
		if (one && !*proof)
			*proof = json_object();
		if (one && json_object_set(*proof, members[i].name, one))
			return "out of memory";
	}
	return NULL;
}

const char *roster_entry_from_json(const struct eh_topology *t, const json_t *o,
				   struct roster_entry *out)
{
	const char *code, *host, *address, *why;
	struct eh_code parsed;
	json_int_t version;

	memset(out, 0, sizeof(*out));
	if (json_unpack((json_t *)o, "{s:s,s:s,s:s,s:I}", "code", &code, "host", &host, "address",
			&address, "version", &version))
		return "an entry lacks code, host, address or version";
	if (eh_code_parse(t, code, &parsed) || parsed.level)
		return "an entry's code is not a node code";
	if (!*host || strlen(host) > ADDRESS_HOST_MAX)
		return "an entry's host is empty or too long";
	if (address_parse(address, &out->address))
		return "an entry's address is not ADDRESS:PORT";
	if (version < 0 || version > (json_int_t)ROSTER_VERSION_MAX)
		return "an entry's version is out of range";
	out->index = parsed.index;
	out->version = version;
	out->left = json_is_true(json_object_get(o, "left"));
	strcpy(out->host, host);
	why = roster_proof_from_json(o, &out->proof);
	if (!why)
		return NULL;
	json_decref(out->proof);
	out->proof = NULL;
	return why;
}

static int roster_compare_codes(const void *left, const void *right)
{
	const struct roster_entry *a = left, *b = right;

	return a->index < b->index ? -1 : a->index > b->index;
}

/* In whatever order they come: to put each in its place takes the square of their number. */
static const char *roster_take_json(struct roster *r, const json_t *list, uint64_t stamp)
{
	struct roster_entry *e;
	const char *why;
	const json_t *o;
	size_t i;

	if (roster_reserve(r, json_array_size(list)))
		return "out of memory";
	json_array_foreach((json_t *)list, i, o) {
		e = &r->entries[r->n];
		why = roster_entry_from_json(&r->topology, o, e);
		if (why)
			return why;
		if (r->changes < e->version)
			r->changes = e->version;
		r->n++;
	}
	if (r->n)
		qsort(r->entries, r->n, sizeof(*r->entries), roster_compare_codes);
	for (i = 1; i < r->n; i++)
		if (r->entries[i - 1].index == r->entries[i].index)
			return "duplicate code";
	roster_sort_hosts(r);
	if (r->changes > stamp >> ROSTER_HASH_BITS)
		return "an entry is newer than the roster";
	r->changes = stamp >> ROSTER_HASH_BITS;
	return NULL;
}

struct roster *roster_from_json(const json_t *body, const char **why)
{
	struct eh_topology t;
	json_int_t stamp;
	struct roster *r;
	char text[32];
	json_t *list;
	int n, l;

	*why = "topology, version or roster is missing";
	if (json_unpack((json_t *)body, "{s:{s:i,s:i},s:I,s:o}", "topology", "n", &n, "l", &l,
			"version", &stamp, "roster", &list) ||
	    !json_is_array(list))
		return NULL;
	*why = "its topology or version is out of range";
	snprintf(text, sizeof(text), "%d,%d", n, l);
	if (eh_topology_parse(text, &t) || stamp < 0 ||
	    stamp >> ROSTER_HASH_BITS > (json_int_t)ROSTER_VERSION_MAX)
		return NULL;
	*why = "out of memory";
	r = roster_new(&t);
	if (!r)
		return NULL;
	r->part = json_object_get(body, "part") || json_object_get(body, "sums") ||
		  json_object_get(body, "differ");
	*why = roster_take_json(r, list, stamp);
	if (!*why)
		return r;
	roster_free(r);
	return NULL;
}
