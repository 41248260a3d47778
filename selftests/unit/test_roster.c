// SPDX-License-Identifier: GPL-2.0-or-later
/* The roster: who gets which code, and that all agree after any exchange. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cluster/roster_json.h"
#include "cluster/statement.h"
#include "random.h"

#define AGENTS 5
#define HOSTS 12

static const struct eh_topology topology = { 3, 1 };

static struct address address_of(unsigned int i)
{
	struct address a;
	char text[32];

	snprintf(text, sizeof(text), "10.0.%u.%u:7411", i / 200, i % 200 + 1);
	assert_int_equal(address_parse(text, &a), 0);
	return a;
}

static struct roster_entry entry(uint32_t index, const char *host, uint64_t version)
{
	struct roster_entry e = { .index = index,
				  .version = version,
				  .address = address_of(index) };

	strcpy(e.host, host);
	return e;
}

static struct roster *empty(void)
{
	struct roster *r = roster_new(&topology);

	assert_non_null(r);
	return r;
}

/* The code that the host gets, or -errno. */
static int enter(struct roster *r, const char *host, int wish, bool only)
{
	struct address a = address_of(host[1] - '0');
	uint32_t wished = wish, index;
	int err = roster_enter(r, NULL, host, &a, wish < 0 ? NULL : &wished, only, &index);

	if (err)
		return err;
	assert_string_equal(roster_by_code(r, index)->host, host);
	assert_string_equal(roster_by_code(r, index)->address.text, a.text);
	return index;
}

static int leave_of(struct roster *r, const char *host)
{
	struct roster_entry e;
	int err = roster_leaving(r, host, &e);

	return err ?: roster_add(r, &e) == 1 ? 0 : -EINVAL;
}

static void test_enter(void **state)
{
	struct roster *r = empty();
	uint64_t stamp;

	assert_int_equal(roster_stamp(r), 0);
	assert_int_equal(enter(r, "n0", -1, false), 0);
	assert_int_equal(enter(r, "n1", 5, false), 5);
	assert_int_equal(enter(r, "n2", 5, false), 1);
	assert_int_equal(enter(r, "n3", -1, false), 2);
	stamp = roster_stamp(r);
	assert_int_equal(enter(r, "n1", 7, false), 5);
	assert_int_equal(roster_stamp(r), stamp);
	/* it has moved */
	assert_int_equal(roster_enter(r, NULL, "n1", &(struct address){ .text = "1.2.3.4:5" }, NULL,
				      false, &(uint32_t){ 0 }),
			 0);
	assert_string_equal(roster_by_code(r, 5)->address.text, "1.2.3.4:5");
	assert_true(roster_stamp(r) > stamp);

	assert_int_equal(leave_of(r, "n2"), 0);
	assert_int_equal(leave_of(r, "n2"), -ENOENT);
	assert_int_equal(leave_of(r, "n9"), -ENOENT);
	assert_null(roster_by_code(r, 1));
	assert_true(roster_by_host(r, "n2")->left);
	assert_int_equal(enter(r, "n2", 6, false), 1);
	assert_int_equal(leave_of(r, "n2"), 0);
	assert_int_equal(enter(r, "n4", -1, false), 1);
	assert_int_equal(enter(r, "n2", -1, false), 3);

	/* a host that runs with a code gets that one or none */
	assert_int_equal(enter(r, "n2", 3, true), 3);
	assert_int_equal(enter(r, "n2", 4, true), -EEXIST);
	assert_int_equal(enter(r, "n5", 3, true), -EEXIST);
	assert_int_equal(enter(r, "n5", 7, true), 7);
	assert_int_equal(enter(r, "n6", -1, false), 4);
	assert_int_equal(enter(r, "n7", -1, false), 6);
	assert_int_equal(enter(r, "n8", -1, false), -ENOSPC);
	assert_int_equal(enter(r, "n7", -1, false), 6);
	roster_free(r);
}

/* Entries of configuration files are there, but are no change, and yield to all others. */
static void test_configured(void **state)
{
	struct roster *r = empty(), *other = empty();
	struct roster_entry e = entry(2, "n2", 0);

	assert_int_equal(roster_add(r, &e), 1);
	assert_int_equal(roster_add(r, &e), 0);
	assert_int_equal(roster_stamp(r), 0);
	assert_int_equal(enter(r, "n2", -1, false), 2);
	assert_int_equal(roster_stamp(r), 0);
	assert_int_equal(enter(other, "n7", 2, false), 2);
	assert_int_equal(roster_merge(r, other), 1);
	assert_string_equal(roster_by_code(r, 2)->host, "n7");
	assert_null(roster_by_host(r, "n2"));
	roster_drop(r, 2);
	assert_non_null(roster_by_code(r, 2));
	e = entry(3, "n3", 0);
	assert_int_equal(roster_add(r, &e), 1);
	roster_drop(r, 3);
	assert_null(roster_by_code(r, 3));
	roster_free(r);
	roster_free(other);
}

static void test_conflicts(void **state)
{
	struct roster *r = empty(), *wide = roster_new(&(struct eh_topology){ 3, 2 });
	struct roster_entry e;

	/* one code: the higher version, then the smaller host */
	e = entry(1, "b", 5);
	assert_int_equal(roster_add(r, &e), 1);
	e = entry(1, "a", 4);
	assert_int_equal(roster_add(r, &e), 0);
	e = entry(1, "c", 5);
	assert_int_equal(roster_add(r, &e), 0);
	e = entry(1, "a", 5);
	assert_int_equal(roster_add(r, &e), 1);
	/* one host: the higher version, then the lower code */
	e = entry(4, "a", 5);
	assert_int_equal(roster_add(r, &e), 1);
	assert_int_equal(roster_by_host(r, "a")->index, 1);
	assert_null(roster_by_code(r, 4));
	e = entry(3, "a", 6);
	assert_int_equal(roster_add(r, &e), 1);
	assert_int_equal(roster_by_host(r, "a")->index, 3);
	assert_null(roster_by_code(r, 1));
	assert_int_equal(enter(r, "n0", -1, false), 0);
	assert_int_equal(enter(r, "n1", -1, false), 1);
	assert_int_equal(roster_merge(r, wide), -EINVAL);
	roster_free(r);
	roster_free(wide);
}

/* A code that was given is held for its host, and nobody has it before the host has signed. */
static void test_held(void **state)
{
	struct roster *r = empty(), *held = empty();
	struct address a = address_of(1), b = address_of(2);
	const struct roster_entry *h;
	uint32_t index, wish = 3;
	struct roster_entry e;

	assert_int_equal(enter(r, "n0", -1, false), 0);
	assert_int_equal(roster_enter(r, held, "n1", &a, NULL, false, &index), 0);
	assert_int_equal(index, 1);
	assert_null(roster_by_code(r, 1));
	assert_int_equal(roster_changes(r), 1);
	assert_int_equal(roster_by_code(held, 1)->version, 2);
	/* asked again: the same */
	assert_int_equal(roster_enter(r, held, "n1", &a, NULL, false, &index), 0);
	assert_int_equal(index, 1);
	assert_int_equal(roster_changes(held), 2);
	/* others get others, also if they wish it or run with it */
	wish = 1;
	assert_int_equal(roster_enter(r, held, "n2", &b, &wish, true, &index), -EEXIST);
	assert_int_equal(roster_enter(r, held, "n2", &b, &wish, false, &index), 0);
	assert_int_equal(index, 2);
	assert_int_equal(roster_by_code(held, 2)->version, 3);
	/* it has moved before it signed */
	assert_int_equal(roster_enter(r, held, "n1", &b, NULL, false, &index), 0);
	assert_int_equal(index, 1);
	h = roster_by_code(held, 1);
	assert_string_equal(h->address.text, b.text);
	assert_int_equal(h->version, 4);
	/* it signs, and leaves: the code is free, although it is still in `held` */
	assert_int_equal(roster_add(r, h), 1);
	assert_int_equal(leave_of(r, "n1"), 0);
	assert_int_equal(roster_enter(r, held, "n3", &a, NULL, false, &index), 0);
	assert_int_equal(index, 1);
	assert_int_equal(roster_leaving(r, "n3", &e), -ENOENT);
	roster_free(r);
	roster_free(held);
}

/* A dead host's code is held for another, and the dead one has it until that has signed. */
static void test_pass_on(void **state)
{
	struct roster *r = empty(), *held = empty();
	struct address a = address_of(1), b = address_of(2);
	const struct roster_entry *h;
	uint32_t index, own = 1;

	assert_int_equal(enter(r, "n0", -1, false), 0);
	assert_int_equal(roster_enter(r, NULL, "dead", &b, NULL, false, &index), 0);
	assert_int_equal(roster_pass_on(r, held, "new", &a, 1), 0);
	assert_string_equal(roster_by_code(r, 1)->host, "dead");
	h = roster_by_code(held, 1);
	assert_string_equal(h->host, "new");
	assert_int_equal(h->version, 3);
	assert_true(roster_is_held(r, held, "another", 1));
	assert_false(roster_is_held(r, held, "new", 1));
	assert_false(roster_is_held(r, NULL, "another", 1));
	/* asked again, also as what it will run with: the same */
	assert_int_equal(roster_enter(r, held, "new", &a, NULL, false, &index), 0);
	assert_int_equal(index, 1);
	assert_int_equal(roster_enter(r, held, "new", &a, &own, true, &index), 0);
	assert_int_equal(roster_changes(held), 3);
	/* the dead one is not dead: it has its code until then */
	assert_int_equal(roster_enter(r, held, "dead", &b, &own, true, &index), 0);
	assert_int_equal(roster_add(r, h), 1);
	assert_null(roster_by_host(r, "dead"));
	assert_string_equal(roster_by_code(r, 1)->host, "new");
	roster_free(r);
	roster_free(held);
}

/* ---- what proves an entry ---- */

static struct roster *copy_of(const struct roster *r);

static json_t *proof_of(const char *sign)
{
	return json_pack("{s:s,s:s}", "sign", sign, "cert", "MA==");
}

static bool is_even(void *ctx, const struct roster_entry *e)
{
	unsigned int *looks = ctx;

	++*looks;
	return e->index % 2 == 0;
}

/* It is carried along, wins over none, and changes neither order nor stamp. */
static void test_proof(void **state)
{
	struct roster *r = empty(), *other;
	struct roster_entry bare = entry(2, "n2", 3), e = bare;
	uint64_t stamp;
	json_t *proof;

	assert_int_equal(roster_add(r, &bare), 1);
	stamp = roster_stamp(r);
	e.proof = proof_of("one");
	assert_true(roster_wins(r, &e));
	assert_int_equal(roster_add(r, &e), 1);
	assert_false(roster_wins(r, &e));
	assert_false(roster_wins(r, &bare));
	assert_int_equal(roster_stamp(r), stamp);
	proof = e.proof;
	e.proof = proof_of("two");
	assert_false(roster_wins(r, &e));
	roster_prove(r, 2, e.proof);
	roster_prove(r, 5, e.proof);
	assert_ptr_equal(roster_by_code(r, 2)->proof, e.proof);
	json_decref(proof);
	json_decref(e.proof);
	other = copy_of(r);
	assert_string_equal(
		json_string_value(json_object_get(roster_by_code(other, 2)->proof, "sign")), "two");
	assert_int_equal(roster_merge(other, r), 0);
	roster_free(other);
	roster_free(r);
}

static void test_filter(void **state)
{
	struct roster *r = empty();
	struct roster_entry e;
	unsigned int looks = 0;
	char host[] = "n0";

	for (int i = 0; i < 8; i++) {
		host[1] = '0' + i;
		e = entry(i, host, 1);
		e.proof = proof_of(host);
		assert_int_equal(roster_add(r, &e), 1);
		json_decref(e.proof);
	}
	roster_filter(r, is_even, &looks);
	assert_int_equal(looks, 8);
	for (int i = 0; i < 8; i++) {
		host[1] = '0' + i;
		assert_int_equal(!roster_by_code(r, i), i % 2);
		assert_int_equal(!roster_by_host(r, host), i % 2);
	}
	roster_free(r);
}

/* Two entries that differ have other bytes, whatever is in their names. */
static void test_statement(void **state)
{
	const struct eh_topology wide = { 3, 2 };
	const struct roster_entry e = entry(2, "n2", 7);
	struct roster_entry f = e;
	char *first, *text;
	size_t n, m;

	first = statement_text(STATEMENT_ENTRY, "c", &topology, &e, &n);
	assert_int_equal(n, sizeof("ehsched entry 1\0c\0"
				   "3,1\0"
				   "0.2\0n2\0"
				   "10.0.0.3:7411\0"
				   "7\0here"));
	assert_memory_equal(first,
			    "ehsched entry 1\0c\0"
			    "3,1\0"
			    "0.2\0n2\0"
			    "10.0.0.3:7411\0"
			    "7\0here",
			    n);
	for (int i = 0; i < 8; i++) {
		f = e;
		f.index += i == 0;
		f.version += i == 1;
		f.left = i == 2;
		f.host[1] += i == 3;
		if (i == 4)
			f.address = address_of(9);
		text = statement_text(i == 5 ? STATEMENT_GRANT : STATEMENT_ENTRY,
				      i == 6 ? "c\nc" : "c", i == 7 ? &wide : &topology, &f, &m);
		assert_non_null(text);
		assert_true(m != n || memcmp(text, first, n) != 0);
		free(text);
	}
	free(first);
}

/* A version that nobody can exceed is not reached at once, and harms nobody where it is reached. */
static void test_steps(void **state)
{
	struct roster *r = empty(), *far = empty();
	struct roster_entry e = entry(1, "n1", ROSTER_STEP_MAX);
	uint64_t stamp;

	assert_int_equal(enter(r, "n0", -1, false), 0);
	assert_int_equal(roster_add(far, &e), 1);
	assert_int_equal(roster_ahead(r, far), ROSTER_STEP_MAX - 1);
	assert_int_equal(roster_ahead(far, r), 0);
	assert_int_equal(roster_merge(r, far), 1);
	assert_int_equal(roster_ahead(r, far), 0);
	assert_int_equal(enter(r, "n2", -1, false), 2);
	/* a step too far changes nothing */
	stamp = roster_stamp(r);
	e = entry(2, "n1", 2 * ROSTER_STEP_MAX + 2);
	assert_int_equal(roster_add(far, &e), 1);
	assert_int_equal(roster_merge(r, far), -ERANGE);
	assert_int_equal(roster_stamp(r), stamp);
	e = entry(2, "n1", ROSTER_VERSION_MAX);
	assert_int_equal(roster_add(far, &e), 1);
	assert_int_equal(roster_merge(r, far), -ERANGE);
	assert_int_equal(roster_stamp(r), stamp);
	assert_string_equal(roster_by_code(r, 2)->host, "n2");
	/* at the limit there is no decision, and no version that others refuse */
	assert_int_equal(enter(far, "n3", -1, false), -ERANGE);
	assert_int_equal(leave_of(far, "n1"), -ERANGE);
	assert_true(roster_merge(far, r) >= 0);
	assert_int_equal(roster_ahead(r, far), ROSTER_VERSION_MAX - (stamp >> 20));
	roster_free(far);
	roster_free(r);
}

/* ---- exchange ---- */

static char *text_of(const struct roster *r)
{
	json_t *o = roster_to_json(r);
	char *text = json_dumps(o, JSON_SORT_KEYS);

	assert_non_null(text);
	json_decref(o);
	return text;
}

static struct roster *copy_of(const struct roster *r)
{
	json_t *o = roster_to_json(r);
	const char *why;
	struct roster *copy = roster_from_json(o, &why);

	assert_non_null(copy);
	assert_int_equal(roster_stamp(copy), roster_stamp(r));
	json_decref(o);
	return copy;
}

static void check(const struct roster *r)
{
	const struct roster_entry *e, *f;

	for (size_t i = 0; (e = roster_at(r, i)); i++)
		for (size_t j = 0; j < i && (f = roster_at(r, j)); j++) {
			assert_true(f->index < e->index);
			assert_false(roster_is_member(r, e) && roster_is_member(r, f) &&
				     !strcmp(e->host, f->host));
		}
}

/* As two agents do when one sees that the other's is newer. */
static bool exchange(struct roster *a, struct roster *b)
{
	uint64_t was = roster_stamp(a), theirs = roster_stamp(b);

	if (theirs <= was)
		return false;
	assert_true(roster_merge(b, a) >= 0);
	assert_true(roster_stamp(b) >= theirs);
	assert_int_equal(roster_merge(a, b), 1);
	assert_true(roster_stamp(a) > was);
	check(a);
	return true;
}

/* Each agent is the top of its part for a while: they decide on their own, and meet at random. */
static void test_agreement(void **state)
{
	struct roster *agents[AGENTS];
	char host[] = "n0", *first, *text;

	random_begin();
	for (int run = 0; run < 300; run++) {
		for (int i = 0; i < AGENTS; i++)
			agents[i] = empty();
		for (int step = 0; step < 60; step++) {
			struct roster *r = agents[random_below(AGENTS)];

			host[1] = '0' + random_below(HOSTS);
			if (random_below(3) == 0)
				exchange(r, agents[random_below(AGENTS)]);
			else if (random_below(3) == 0)
				leave_of(r, host);
			else
				enter(r, host, random_below(10) - 2, false);
		}
		/* whole again: each meets each until nobody hears anything new */
		for (int met = 1, rounds = 0; met; rounds++) {
			assert_true(rounds < 10);
			met = 0;
			for (int i = 0; i < AGENTS * AGENTS; i++)
				met += exchange(agents[i / AGENTS], agents[i % AGENTS]);
		}
		first = text_of(agents[0]);
		for (int i = 0; i < AGENTS; i++) {
			text = text_of(agents[i]);
			assert_string_equal(text, first);
			free(text);
			roster_free(agents[i]);
		}
		free(first);
	}
}

/* In whatever order rosters are merged, the entries are the same. */
static void test_order(void **state)
{
	char host[] = "n0";

	random_begin();
	for (int run = 0; run < 500; run++) {
		struct roster *parts[3], *one, *two;
		const struct roster_entry *e, *f;

		for (int i = 0; i < 3; i++) {
			parts[i] = empty();
			for (int n = random_below(8); n; n--) {
				struct roster_entry x;

				host[1] = '0' + random_below(HOSTS);
				x = entry(random_below(8), host, random_below(4));
				x.left = random_below(4) == 0;
				roster_add(parts[i], &x);
			}
		}
		one = copy_of(parts[0]);
		roster_merge(one, parts[1]);
		roster_merge(one, parts[2]);
		two = copy_of(parts[2]);
		roster_merge(parts[1], parts[0]);
		roster_merge(two, parts[1]);
		for (size_t i = 0; (e = roster_at(one, i)); i++) {
			f = roster_at(two, i);
			assert_non_null(f);
			assert_int_equal(e->index, f->index);
			assert_string_equal(e->host, f->host);
			assert_string_equal(e->address.text, f->address.text);
			assert_int_equal(e->version, f->version);
			assert_int_equal(e->left, f->left);
			assert_int_equal(roster_is_member(one, e), roster_is_member(two, f));
		}
		assert_int_equal(roster_merge(two, two), 0);
		for (int i = 0; i < 3; i++)
			roster_free(parts[i]);
		roster_free(one);
		roster_free(two);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enter),	  cmocka_unit_test(test_configured),
		cmocka_unit_test(test_conflicts), cmocka_unit_test(test_steps),
		cmocka_unit_test(test_agreement), cmocka_unit_test(test_order),
		cmocka_unit_test(test_held),	  cmocka_unit_test(test_pass_on),
		cmocka_unit_test(test_proof),	  cmocka_unit_test(test_filter),
		cmocka_unit_test(test_statement),
	};

	return cmocka_run_group_tests_name("roster", tests, NULL, NULL);
}
