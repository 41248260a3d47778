// SPDX-License-Identifier: GPL-2.0-or-later
/* Which host has which code. */

#include "roster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "cert/read.h"
#include "roster_inside.h"

/* ---- order ---- */

/* What a host said does not change with its certificate: the younger one proves it for longer. */
static int roster_compare_certificates(const json_t *a, const json_t *b)
{
	const char *one = json_string_value(json_object_get(a, "cert"));
	const char *other = json_string_value(json_object_get(b, "cert"));
	int64_t since, others;

	if (!one || !other || !strcmp(one, other))
		return 0;
	since = cert_since(one);
	others = cert_since(other);
	if (since != others)
		return since > others ? 1 : -1;
	return strcmp(one, other);
}

/* A total order of the entries of one code: all agree, whatever they heard first. */
static int roster_rank(const struct roster_entry *a, const struct roster_entry *b)
{
	int order;

	if (a->version != b->version)
		return a->version > b->version ? 1 : -1;
	if (!a->proof != !b->proof)
		return a->proof ? 1 : -1;
	order = strcmp(b->host, a->host);
	if (!order)
		order = strcmp(b->address.text, a->address.text);
	if (!order)
		order = a->left - b->left;
	return order ? order : roster_compare_certificates(a->proof, b->proof);
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

void roster_sort_hosts(struct roster *r)
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

const struct roster_entry *roster_entry_of(const struct roster *r, uint32_t index)
{
	size_t at = roster_place(r, index);

	return at < r->n && r->entries[at].index == index ? &r->entries[at] : NULL;
}

/* ---- making ---- */

int roster_reserve(struct roster *r, size_t n)
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

bool roster_put(struct roster *r, const struct roster_entry *e)
{
	size_t at = roster_place(r, e->index);
	const bool replaced = at < r->n && r->entries[at].index == e->index;

	if (replaced) {
		if (roster_rank(e, &r->entries[at]) <= 0)
			return false;
	} else {
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): there is room, so there are entries */
		memmove(&r->entries[at + 1], &r->entries[at], (r->n - at) * sizeof(*e));
		r->n++;
	}
	json_incref(e->proof);
	if (replaced)
		json_decref(r->entries[at].proof);
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
	for (size_t i = 0; i < r->n; i++)
		json_decref(r->entries[i].proof);
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
	json_decref(r->entries[at].proof);
	r->n--;
	memmove(&r->entries[at], &r->entries[at + 1], (r->n - at) * sizeof(*r->entries));
	roster_sort_hosts(r);
}

void roster_filter(struct roster *r, bool (*keep)(void *ctx, const struct roster_entry *e),
		   void *ctx)
{
	/* Without memory none is known to be good. */
	bool *kept = calloc(r->n + 1, sizeof(*kept));
	size_t n = 0;

	/* `keep` may look at all of them. */
	for (size_t i = 0; kept && i < r->n; i++)
		kept[i] = keep(ctx, &r->entries[i]);
	for (size_t i = 0; i < r->n; i++) {
		if (kept && kept[i])
			r->entries[n++] = r->entries[i];
		else
			json_decref(r->entries[i].proof);
	}
	r->n = n;
	roster_sort_hosts(r);
	free(kept);
}

bool roster_wins(const struct roster *r, const struct roster_entry *e)
{
	const struct roster_entry *has = roster_entry_of(r, e->index);

	return !has || roster_rank(e, has) > 0;
}

void roster_prove(struct roster *r, uint32_t index, json_t *proof)
{
	size_t at = roster_place(r, index);

	if (at == r->n || r->entries[at].index != index)
		return;
	json_incref(proof);
	json_decref(r->entries[at].proof);
	r->entries[at].proof = proof;
}

/* ---- looking ---- */

const struct eh_topology *roster_topology(const struct roster *r)
{
	return &r->topology;
}

size_t roster_count(const struct roster *r)
{
	return r->n;
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

uint64_t roster_changes(const struct roster *r)
{
	return r->changes;
}

void roster_raise(struct roster *r)
{
	if (r->changes && r->changes < ROSTER_VERSION_MAX)
		r->changes++;
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
	     (!from->part && after != roster_digest(from) && stamp <= roster_stamp(from))) &&
	    r->changes < ROSTER_VERSION_MAX)
		r->changes++;
	return changed || roster_stamp(r) != old;
}

/* ---- decisions ---- */

bool roster_is_held(const struct roster *r, const struct roster *held, const char *host,
		    uint32_t index)
{
	const struct roster_entry *h = held ? roster_by_code(held, index) : NULL;
	const struct roster_entry *last = roster_entry_of(r, index);

	/* Since it was given, the host has signed for it, and left, or somebody else has got it. */
	if (!h || (last && last->version >= h->version))
		return false;
	return strcmp(h->host, host) != 0;
}

/* Whether the code is another host's, or held for one. */
static bool roster_taken(const struct roster *r, const struct roster *held, const char *host,
			 uint32_t index)
{
	return roster_by_code(r, index) || roster_is_held(r, held, host, index);
}

static int roster_lowest_free(const struct roster *r, const struct roster *held, const char *host,
			      uint32_t *index)
{
	const uint32_t end = 1u << (r->topology.n * r->topology.l);

	for (uint32_t i = 0; i < end; i++) {
		if (roster_taken(r, held, host, i))
			continue;
		*index = i;
		return 0;
	}
	return -ENOSPC;
}

static int roster_choose(const struct roster *r, const struct roster *held, const char *host,
			 const struct roster_entry *had, const uint32_t *wish, bool only,
			 uint32_t *index)
{
	if (only) {
		*index = *wish;
		if (had && !had->left)
			return had->index == *wish ? 0 : -EEXIST;
		return roster_taken(r, held, host, *wish) ? -EEXIST : 0;
	}
	if (had && (!had->left || !roster_taken(r, held, host, had->index)))
		*index = had->index;
	else if (wish && !roster_taken(r, held, host, *wish))
		*index = *wish;
	else
		return roster_lowest_free(r, held, host, index);
	return 0;
}

/* What is held for the host already, if that is still good. */
static const struct roster_entry *roster_held(const struct roster *r, const struct roster *held,
					      const char *host)
{
	const struct roster_entry *h = held ? roster_by_host(held, host) : NULL;
	const struct roster_entry *last = h ? roster_entry_of(r, h->index) : NULL;

	return h && (!last || last->version < h->version) ? h : NULL;
}

/* Enters it into `to` by a change later than all of that and of `r`. */
static int roster_decide(const struct roster *r, struct roster *to, const char *host,
			 const struct address *address, uint32_t index)
{
	struct roster_entry e = { .index = index, .address = *address, .version = r->changes };
	int err;

	if (to->changes > e.version)
		e.version = to->changes;
	if (e.version++ >= ROSTER_VERSION_MAX)
		return -ERANGE;
	strncpy(e.host, host, sizeof(e.host) - 1);
	err = roster_add(to, &e);
	return err < 0 ? err : 0;
}

int roster_pass_on(const struct roster *r, struct roster *held, const char *host,
		   const struct address *address, uint32_t index)
{
	return roster_decide(r, held, host, address, index);
}

int roster_enter(struct roster *r, struct roster *held, const char *host,
		 const struct address *address, const uint32_t *wish, bool only, uint32_t *index)
{
	const struct roster_entry *had = roster_by_host(r, host), *h = roster_held(r, held, host);
	int err;

	if (h && (!had || had->version < h->version) && (!only || h->index == *wish))
		had = h;
	err = roster_choose(r, held, host, had, wish, only, index);
	if (err)
		return err;
	if (had && !had->left && !strcmp(had->address.text, address->text))
		return 0;
	return roster_decide(r, held ?: r, host, address, *index);
}

int roster_leaving(const struct roster *r, const char *host, struct roster_entry *out)
{
	const struct roster_entry *had = roster_by_host(r, host);

	if (!had || had->left)
		return -ENOENT;
	if (r->changes >= ROSTER_VERSION_MAX)
		return -ERANGE;
	*out = *had;
	out->proof = NULL;
	out->version = r->changes + 1;
	out->left = true;
	return 0;
}
