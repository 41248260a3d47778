// SPDX-License-Identifier: GPL-2.0-or-later
/* Two rosters, as JSON with a NUL between: refused with a reason, or complete; and both ways to merge them agree. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/agent.h"
#include "cluster/roster_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct roster *read_one(const char *text, size_t length)
{
	json_t *o = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
	const char *why = NULL;
	struct roster *r = roster_from_json(o, &why);

	if (!r == !why)
		abort();
	json_decref(o);
	return r;
}

static struct roster *again(const struct roster *r)
{
	json_t *o = roster_to_json(r);
	char *text = json_dumps(o, 0);
	struct roster *same = read_one(text, strlen(text));

	if (!same || roster_stamp(same) != roster_stamp(r))
		abort();
	free(text);
	json_decref(o);
	return same;
}

static void compare(const struct roster *a, const struct roster *b)
{
	const struct roster_entry *e, *f;

	for (size_t i = 0; (e = roster_at(a, i)) || roster_at(b, i); i++) {
		f = roster_at(b, i);
		if (!e || !f || e->index != f->index || strcmp(e->host, f->host) ||
		    strcmp(e->address.text, f->address.text) || e->version != f->version ||
		    e->left != f->left || roster_is_member(a, e) != roster_is_member(b, f))
			abort();
		if (roster_is_member(a, e) && roster_by_code(a, e->index) != e)
			abort();
	}
}

static void merge(struct roster *a, struct roster *b)
{
	struct roster *left = again(a), *right = again(b);
	uint64_t was = roster_stamp(left);
	struct roster_entry e;
	uint32_t index;
	int one = roster_merge(left, b), two = roster_merge(right, a);

	/* One that is too far ahead of the other is refused by that one only. */
	if (((one < 0) != (two < 0) && one != -ERANGE && two != -ERANGE) ||
	    roster_stamp(left) < was)
		abort();
	if (one >= 0 && two >= 0) {
		compare(left, right);
		if (roster_merge(left, left))
			abort();
	}
	was = roster_stamp(left);
	if (!roster_enter(left, NULL, "newcomer", &(struct address){ .text = "1.2.3.4:5" }, NULL,
			  false, &index) &&
	    (strcmp(roster_by_code(left, index)->host, "newcomer") ||
	     roster_leaving(left, "newcomer", &e) || roster_add(left, &e) != 1 ||
	     roster_by_code(left, index) || roster_stamp(left) <= was))
		abort();
	roster_free(left);
	roster_free(right);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *gap = memchr(text, 0, size);
	struct roster *a, *b = NULL;

	a = read_one(text, gap ? (size_t)(gap - text) : size);
	if (gap)
		b = read_one(gap + 1, size - (gap + 1 - text));
	if (a && b)
		merge(a, b);
	roster_free(a);
	roster_free(b);
	return 0;
}
