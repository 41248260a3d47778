// SPDX-License-Identifier: GPL-2.0-or-later
/* Which host has which code. */

#include "roster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define ROSTER_HASH_BITS 20

struct roster {
	struct eh_topology topology;
	uint64_t changes; /* at least the highest version */
	struct roster_entry *entries; /* by code */
	uint32_t *by_host; /* their numbers by host, the one that counts first */
	size_t n, room;
};

/* ---- order ---- */

/* A total order of the entries of one code: all agree, whatever they heard first. */
static int roster_rank(const struct roster_entry *a, const struct roster_entry *b)
{
	int order;

	if (a->version != b->version)
		return a->version > b->version ? 1 : -1;
	order = strcmp(b->host, a->host);
	if (!order)
		order = strcmp(b->address.text, a->address.text);
	return order ? order : a->left - b->left;
}

static int roster_compare_hosts(const void *left, const void *right, void *ctx)
{
	const struct roster *r = ctx;
	const struct roster_entry *a = &r->entries[*(const uint32_t *)left];
	const struct roster_entry *b = &r->entries[*(const uint32_t *)right];
	int order = strcmp(a->host, b->host);

	if (order)
		return order;
	if (a->version != b->version)
		return a->version > b->version ? -1 : 1;
	return a->index < b->index ? -1 : 1;
}

static void roster_sort_hosts(struct roster *r)
{
	for (size_t i = 0; i < r->n; i++)
		r->by_host[i] = i;
	if (r->n)
		qsort_r(r->by_host, r->n, sizeof(*r->by_host), roster_compare_hosts, r);
}

/* The place of a code's entry, or where it would be. */
static size_t roster_place(const struct roster *r, uint32_t index)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->entries[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct roster_entry *roster_entry_of(const struct roster *r, uint32_t index)
{
	size_t at = roster_place(r, index);

	return at < r->n && r->entries[at].index == index ? &r->entries[at] : NULL;
}

/* ---- making ---- */

static int roster_reserve(struct roster *r, size_t n)
{
	struct roster_entry *entries;
	uint32_t *by_host;

	if (n <= r->room)
		return 0;
	n += n / 2 + 8;
	entries = realloc(r->entries, n * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	r->entries = entries;
	by_host = realloc(r->by_host, n * sizeof(*by_host));
	if (!by_host)
		return -ENOMEM;
	r->by_host = by_host;
	r->room = n;
	return 0;
}

/* There is room. The hosts must be sorted again after it. */
static bool roster_put(struct roster *r, const struct roster_entry *e)
{
	size_t at = roster_place(r, e->index);

	if (at < r->n && r->entries[at].index == e->index) {
		if (roster_rank(e, &r->entries[at]) <= 0)
			return false;
	} else {
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): there is room, so there are entries */
		memmove(&r->entries[at + 1], &r->entries[at], (r->n - at) * sizeof(*e));
		r->n++;
	}
	r->entries[at] = *e;
	if (r->changes < e->version)
		r->changes = e->version;
	return true;
}

struct roster *roster_new(const struct eh_topology *topology)
{
	struct roster *r = calloc(1, sizeof(*r));

	if (r)
		r->topology = *topology;
	return r;
}

void roster_free(struct roster *r)
{
	if (!r)
		return;
	free(r->entries);
	free(r->by_host);
	free(r);
}

int roster_add(struct roster *r, const struct roster_entry *e)
{
	if (roster_reserve(r, r->n + 1))
		return -ENOMEM;
	if (!roster_put(r, e))
		return 0;
	roster_sort_hosts(r);
	return 1;
}

void roster_drop(struct roster *r, uint32_t index)
{
	size_t at = roster_place(r, index);

	if (at == r->n || r->entries[at].index != index || r->entries[at].version)
		return;
	r->n--;
	memmove(&r->entries[at], &r->entries[at + 1], (r->n - at) * sizeof(*r->entries));
	roster_sort_hosts(r);
}

/* ---- looking ---- */

const struct eh_topology *roster_topology(const struct roster *r)
{
	return &r->topology;
}

const struct roster_entry *roster_at(const struct roster *r, size_t i)
{
	return i < r->n ? &r->entries[i] : NULL;
}

const struct roster_entry *roster_by_host(const struct roster *r, const char *host)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(r->entries[r->by_host[middle]].host, host) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == r->n || strcmp(r->entries[r->by_host[low]].host, host))
		return NULL;
	return &r->entries[r->by_host[low]];
}

bool roster_is_member(const struct roster *r, const struct roster_entry *e)
{
	return !e->left && roster_by_host(r, e->host) == e;
}

const struct roster_entry *roster_by_code(const struct roster *r, uint32_t index)
{
	const struct roster_entry *e = roster_entry_of(r, index);

	return e && roster_is_member(r, e) ? e : NULL;
}

/* ---- versions ---- */

/* Of the entries that are not only configured. */
static uint64_t roster_digest(const struct roster *r)
{
	uint64_t h = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct roster_entry *e = &r->entries[i];
		const uint64_t numbers[] = { e->index, e->version, e->left };

		if (!e->version)
			continue;
		h = XXH3_64bits_withSeed(numbers, sizeof(numbers), h);
		h = XXH3_64bits_withSeed(e->host, strlen(e->host), h);
		h = XXH3_64bits_withSeed(e->address.text, strlen(e->address.text), h);
	}
	return h;
}

uint64_t roster_stamp(const struct roster *r)
{
	const uint64_t hash = (1u << ROSTER_HASH_BITS) - 1;

	return r->changes ? r->changes << ROSTER_HASH_BITS | (roster_digest(r) & hash) : 0;
}

uint64_t roster_ahead(const struct roster *r, const struct roster *from)
{
	return from->changes > r->changes ? from->changes - r->changes : 0;
}

int roster_merge(struct roster *r, const struct roster *from)
{
	uint64_t before = roster_digest(r), old = roster_stamp(r), after, stamp;
	bool changed = false;

	if (r->topology.n != from->topology.n || r->topology.l != from->topology.l)
		return -EINVAL;
	if (roster_ahead(r, from) > ROSTER_STEP_MAX)
		return -ERANGE;
	if (roster_reserve(r, r->n + from->n))
		return -ENOMEM;
	for (size_t i = 0; i < from->n; i++)
		changed |= roster_put(r, &from->entries[i]);
	roster_sort_hosts(r);
	if (r->changes < from->changes)
		r->changes = from->changes;
	/* An agent that lacks part of the result must see a higher stamp than its own. */
	after = roster_digest(r);
	stamp = roster_stamp(r);
	if (((after != before && stamp <= old) ||
	     (after != roster_digest(from) && stamp <= roster_stamp(from))) &&
	    r->changes < ROSTER_VERSION_MAX)
		r->changes++;
	return changed || roster_stamp(r) != old;
}

/* ---- decisions ---- */

static int roster_lowest_free(const struct roster *r, uint32_t *index)
{
	const uint32_t end = 1u << (r->topology.n * r->topology.l);

	for (uint32_t i = 0; i < end; i++) {
		if (roster_by_code(r, i))
			continue;
		*index = i;
		return 0;
	}
	return -ENOSPC;
}

static int roster_choose(const struct roster *r, const struct roster_entry *had,
			 const uint32_t *wish, bool only, uint32_t *index)
{
	if (only) {
		*index = *wish;
		if (had && !had->left)
			return had->index == *wish ? 0 : -EEXIST;
		return roster_by_code(r, *wish) ? -EEXIST : 0;
	}
	if (had && (!had->left || !roster_by_code(r, had->index)))
		*index = had->index;
	else if (wish && !roster_by_code(r, *wish))
		*index = *wish;
	else
		return roster_lowest_free(r, index);
	return 0;
}

int roster_enter(struct roster *r, const char *host, const struct address *address,
		 const uint32_t *wish, bool only, uint32_t *index)
{
	const struct roster_entry *had = roster_by_host(r, host);
	struct roster_entry e = { .address = *address };
	int err;

	err = roster_choose(r, had, wish, only, index);
	if (err)
		return err;
	if (had && !had->left && !strcmp(had->address.text, address->text))
		return 0;
	if (r->changes >= ROSTER_VERSION_MAX)
		return -ERANGE;
	e.index = *index;
	e.version = r->changes + 1;
	strncpy(e.host, host, sizeof(e.host) - 1);
	err = roster_add(r, &e);
	return err < 0 ? err : 0;
}

int roster_leave(struct roster *r, const char *host)
{
	const struct roster_entry *had = roster_by_host(r, host);
	struct roster_entry e;
	int err;

	if (!had || had->left)
		return -ENOENT;
	if (r->changes >= ROSTER_VERSION_MAX)
		return -ERANGE;
	e = *had;
	e.version = r->changes + 1;
	e.left = true;
	err = roster_add(r, &e);
	return err < 0 ? err : 0;
}

/* ---- JSON ---- */

static json_t *roster_entry_to_json(const struct roster *r, const struct roster_entry *e)
{
	char code[EH_CODE_TEXT];
	json_t *o;

	eh_code_format(&r->topology, (struct eh_code){ 0, e->index }, code);
	o = json_pack("{s:s,s:s,s:s,s:I}", "code", code, "host", e->host, "address",
		      e->address.text, "version", (json_int_t)e->version);
	if (o && e->left && json_object_set_new(o, "left", json_true())) {
		json_decref(o);
		return NULL;
	}
	return o;
}

json_t *roster_to_json(const struct roster *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n; i++)
		if (json_array_append_new(list, roster_entry_to_json(r, &r->entries[i])))
			goto drop_list;
	return json_pack("{s:{s:i,s:i},s:I,s:o}", "topology", "n", (int)r->topology.n, "l",
			 (int)r->topology.l, "version", (json_int_t)roster_stamp(r), "roster",
			 list);

drop_list:
	json_decref(list);
	return NULL;
}

static const char *roster_entry_from_json(const struct eh_topology *t, const json_t *o,
					  struct roster_entry *out)
{
	const char *code, *host, *address;
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
	return NULL;
}

static const char *roster_take_json(struct roster *r, const json_t *list, uint64_t stamp)
{
	struct roster_entry e;
	const char *why;
	const json_t *o;
	size_t i;

	if (roster_reserve(r, json_array_size(list)))
		return "out of memory";
	json_array_foreach((json_t *)list, i, o) {
		why = roster_entry_from_json(&r->topology, o, &e);
		if (why)
			return why;
		if (roster_entry_of(r, e.index))
			return "duplicate code";
		roster_put(r, &e);
	}
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
	*why = roster_take_json(r, list, stamp);
	if (!*why)
		return r;
	roster_free(r);
	return NULL;
}
