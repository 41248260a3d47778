// SPDX-License-Identifier: GPL-2.0-or-later
/* What programs cost: bounds whatever is told, users apart, what is forgotten, text and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cost/key.h"
#include "cost/table.h"
#include "cost/text.h"
#include "random.h"

#define NOW 1700000000
#define WEEK (7 * 86400)
#define ME 1000
#define OTHER 1001

/* ---- keys ---- */

static uint64_t key(const char *path, const char *a, const char *b, const char *c)
{
	const char *argv[] = { "name", a, b, c, NULL };

	return cost_key(path, argv);
}

static void test_key(void **state)
{
	/* a plain program is its path */
	assert_true(key("/bin/grep", "a", "b", NULL) == cost_key("/bin/grep", NULL));
	assert_true(key("/bin/grep", "a", "b", NULL) == key("/bin/grep", "c", NULL, NULL));
	assert_true(key("/bin/grep", NULL, NULL, NULL) != key("/usr/bin/grep", NULL, NULL, NULL));
	assert_true(cost_key("./conftest", NULL) != 0);
	/* an interpreter is what it runs */
	assert_true(cost_key("/bin/sh", NULL) == 0);
	assert_true(cost_key("/usr/bin/python3.11", NULL) == 0);
	assert_true(key("/bin/sh", "a", "x", NULL) == key("/bin/sh", "a", "y", NULL));
	assert_true(key("/bin/sh", "a", NULL, NULL) != key("/bin/sh", "b", NULL, NULL));
	assert_true(key("/bin/sh", "-c", "a", NULL) != key("/bin/sh", "-c", "b", NULL));
	assert_true(key("/bin/sh", "-c", "a", NULL) != key("/bin/sh", "a", NULL, NULL));
	assert_true(key("/usr/bin/python3.11", "a.py", "1", NULL) ==
		    key("/usr/bin/python3.11", "a.py", "2", NULL));
	assert_true(key("/usr/bin/git", "-c", "a=b", "log") !=
		    key("/usr/bin/git", "-c", "a=b", "gc"));
	/* one that starts its arguments is all of them */
	assert_true(cost_key("/usr/bin/env", NULL) == 0);
	assert_true(key("/bin/sleep", "1", NULL, NULL) != key("/bin/sleep", "2", NULL, NULL));
	assert_true(key("/usr/bin/timeout", "9", "a", "b") !=
		    key("/usr/bin/timeout", "9", "a", "c"));
	/* words keep apart, and a name that only begins so is another */
	assert_true(key("/bin/env", "ab", "c", NULL) != key("/bin/env", "a", "bc", NULL));
	assert_true(key("/bin/shuf", "a", NULL, NULL) == key("/bin/shuf", "b", NULL, NULL));
	assert_true(cost_key("", NULL) != 0 && cost_key("/", NULL) != 0 &&
		    cost_key("3.1", NULL) != 0);
	assert_true(cost_host_name("n1") && cost_host_name("n1") != cost_host_name("n2"));
}

/* ---- one program ---- */

static void ran(struct cost_table *t, uint32_t uid, uint64_t name, enum cost_place place,
		uint64_t us, int64_t now)
{
	cost_ran(t, uid, name, place, &(struct cost_run){ .time_us = us }, now);
}

static bool is_short(const struct cost_table *t, uint32_t uid, uint64_t name, int64_t now)
{
	struct cost_expected e;

	return cost_expect(t, uid, name, now, &e) && cost_is_short(&e);
}

static void test_decision(void **state)
{
	struct cost_table *t = cost_new();
	struct cost_expected e;

	cost_transferred(t, ME, "n1", 5000, NOW);
	for (int i = 0; i < COST_FEW; i++) {
		assert_false(cost_expect(t, ME, 1, NOW, &e));
		ran(t, ME, 1, COST_AWAY, 2000, NOW);
		ran(t, ME, 2, COST_AWAY, 2000000, NOW);
		ran(t, ME, 3, COST_AWAY, i ? 1000 : 40000, NOW); /* now so, now so */
	}
	assert_true(cost_expect(t, ME, 1, NOW, &e));
	assert_true(e.runs == COST_FEW && e.time_us == 2000 && e.most_us == 2000 && !e.used &&
		    e.transfer_us == 5000 && e.place == COST_AWAY);
	assert_true(is_short(t, ME, 1, NOW));
	assert_false(is_short(t, ME, 2, NOW));
	assert_false(is_short(t, ME, 3, NOW));
	/* somebody else's are not known, nor what transfers cost him */
	assert_false(cost_expect(t, OTHER, 1, NOW, &e));
	for (int i = 0; i < COST_FEW; i++)
		ran(t, OTHER, 1, COST_AWAY, 2000, NOW);
	assert_true(cost_expect(t, OTHER, 1, NOW, &e) && !e.transfer_us);
	assert_false(is_short(t, OTHER, 1, NOW));
	/* it becomes a long one while it stays: that is noticed */
	for (int i = 0; i < COST_FEW; i++)
		ran(t, ME, 1, COST_HERE, 3000000, NOW + 1 + i);
	assert_false(is_short(t, ME, 1, NOW + 4));
	assert_true(cost_expect(t, ME, 1, NOW + 4, &e) && e.place == COST_HERE);
	/* and short again, elsewhere */
	for (int i = 0; i < COST_FEW; i++)
		ran(t, ME, 1, COST_AWAY, 2000, NOW + 5 + i);
	assert_true(is_short(t, ME, 1, NOW + 8));
	cost_free(t);
}

static void test_memory(void **state)
{
	struct cost_table *t = cost_new(), *again;
	struct cost_run run = { .time_us = 1000, .used = true, .memory_kib = 1000 };
	char why[COST_WHY], *text;
	struct cost_expected e;

	assert_true(!cost_memory(t, ME, 1, NOW));
	/* one run says something, and one here, of which nothing is known, does not change it */
	cost_ran(t, ME, 1, COST_AWAY, &run, NOW);
	assert_true(cost_memory(t, ME, 1, NOW) == 1000 && !cost_memory(t, OTHER, 1, NOW));
	for (int i = 0; i < COST_FEW; i++)
		ran(t, ME, 1, COST_HERE, 1000, NOW + 1);
	assert_true(cost_memory(t, ME, 1, NOW + 1) == 1000);
	/* more than the mean, if they differ */
	run.memory_kib = 3000;
	cost_ran(t, ME, 1, COST_AWAY, &run, NOW + 1);
	assert_true(cost_memory(t, ME, 1, NOW + 1) > 3000 && cost_memory(t, ME, 1, NOW + 1) < 6000);
	assert_true(!cost_memory(t, ME, 1, NOW + 3 * WEEK));
	/* killed: half as much again, and no less than was expected; many at once are no more than one */
	for (int i = 0; i < 5; i++)
		cost_starved(t, ME, 1, 4000, NOW + 2);
	assert_true(cost_memory(t, ME, 1, NOW + 2) == 6000);
	cost_starved(t, ME, 1, 100, NOW + 2);
	assert_true(cost_memory(t, ME, 1, NOW + 2) == 6000);
	cost_starved(t, ME, 1, 0, NOW + 2);
	assert_true(cost_memory(t, ME, 1, NOW + 2) == 9000);
	/* the first thing that is known of it, and kept; how long it takes is not expected from that */
	cost_starved(t, ME, 2, 2000, NOW);
	cost_starved(t, ME, 3, UINT64_MAX, NOW);
	cost_starved(t, ME, 0, 2000, NOW);
	assert_true(cost_memory(t, ME, 2, NOW) == 3000 && cost_memory(t, ME, 3, NOW) > 1ull << 47 &&
		    !cost_expect(t, ME, 2, NOW, &e));
	text = cost_write(t);
	again = cost_read(text, why);
	assert_non_null(again);
	assert_true(cost_memory(again, ME, 2, NOW) == 3000 &&
		    cost_memory(again, ME, 1, NOW + 2) == 9000);
	free(text);
	cost_free(again);
	cost_free(t);
}

static void test_transfer(void **state)
{
	struct cost_table *t = cost_new();
	struct cost_expected e;

	for (int i = 0; i < COST_FEW; i++)
		ran(t, ME, 1, COST_AWAY, 1000, NOW);
	/* the first makes the connection; then one is held up */
	cost_transferred(t, ME, "n1", 900000, NOW);
	cost_transferred(t, ME, "n1", 6000, NOW);
	for (int i = 0; i < 20; i++)
		cost_transferred(t, ME, "n1", 6000, NOW);
	cost_transferred(t, ME, "n1", 60000000, NOW);
	assert_true(cost_expect(t, ME, 1, NOW, &e) && e.transfer_us >= 6000 &&
		    e.transfer_us < 9000);
	/* the cheapest counts */
	cost_transferred(t, ME, "n2", 4000, NOW);
	cost_transferred(t, ME, "n3", 50000, NOW);
	assert_true(cost_expect(t, ME, 1, NOW, &e) && e.transfer_us == 4000);
	/* those of longest ago are forgotten */
	for (int i = 0; i < 3 * COST_HOSTS; i++) {
		char host[24];

		snprintf(host, sizeof(host), "other%d", i);
		cost_transferred(t, ME, host, 70000, NOW + 1 + i);
	}
	assert_true(cost_expect(t, ME, 1, NOW, &e) && e.transfer_us == 70000);
	cost_free(t);
}

static void test_decay(void **state)
{
	struct cost_table *t = cost_new();
	struct cost_expected e;

	cost_transferred(t, ME, "n1", 5000, NOW);
	for (int i = 0; i < 100; i++)
		ran(t, ME, 1, COST_AWAY, 1000, NOW);
	/* half of it each week, and not twice for two questions */
	assert_true(cost_expect(t, ME, 1, NOW + WEEK, &e) && e.runs == 50);
	assert_true(cost_expect(t, ME, 1, NOW + WEEK, &e) && e.runs == 50);
	assert_true(cost_expect(t, ME, 1, NOW + 5 * WEEK, &e) && e.runs == 3);
	assert_false(cost_expect(t, ME, 1, NOW + 6 * WEEK, &e));
	assert_false(cost_expect(t, ME, 1, INT64_MAX, &e));
	/* a clock that was wrong */
	assert_true(cost_expect(t, ME, 1, INT64_MIN, &e) && e.runs == 100);
	assert_true(cost_expect(t, ME, 1, 0, &e) && e.runs == 100);
	/* new runs outweigh old ones */
	for (int i = 0; i < 60; i++)
		ran(t, ME, 1, COST_AWAY, 50000, NOW);
	assert_true(cost_expect(t, ME, 1, NOW, &e) && e.time_us > 49000 && e.most_us < 55000);
	/* the mean moves by an eighth */
	ran(t, ME, 1, COST_AWAY, 0, NOW);
	assert_true(cost_expect(t, ME, 1, NOW, &e) && e.time_us > 42000 && e.time_us < 45000 &&
		    e.most_us > e.time_us);
	cost_free(t);
}

/* ---- bounds ---- */

static uint64_t any_value(void)
{
	switch (random_below(4)) {
	case 0:
		return random_64();
	case 1:
		return random_below(3) ? UINT64_MAX - random_below(3) : 0;
	default:
		return random_below(1u << 20);
	}
}

static int64_t any_time(void)
{
	switch (random_below(4)) {
	case 0:
		return (int64_t)random_64();
	case 1:
		return random_below(2) ? INT64_MIN : INT64_MAX;
	default:
		return NOW + (int64_t)random_below(100 * WEEK);
	}
}

static void same(const struct cost_table *a, const struct cost_table *b, uint32_t users,
		 uint64_t keys)
{
	assert_int_equal(cost_count(a), cost_count(b));
	for (uint32_t uid = 0; uid < users; uid++)
		for (uint64_t k = 1; k <= keys; k++) {
			struct cost_expected x, y;

			memset(&x, 0, sizeof(x));
			memset(&y, 0, sizeof(y));
			assert_int_equal(cost_expect(a, uid, k, NOW, &x),
					 cost_expect(b, uid, k, NOW, &y));
			assert_memory_equal(&x, &y, sizeof(x));
		}
}

static struct cost_table *back(const struct cost_table *t)
{
	char why[COST_WHY] = "", *text = cost_write(t), *again;
	struct cost_table *read;

	assert_non_null(text);
	assert_true(strlen(text) < COST_TEXT_MAX);
	read = cost_read(text, why);
	if (!read)
		fail_msg("its own text is refused: %s", why);
	again = cost_write(read);
	assert_string_equal(text, again);
	free(text);
	free(again);
	return read;
}

static void test_hostile(void **state)
{
	enum { USERS = 300, KEYS = 40 };

	for (int round = 0; round < 5; round++) {
		struct cost_table *t = cost_new(), *read;
		const unsigned int users = 1 + random_below(USERS);

		for (int i = 0; i < 30000; i++) {
			const uint32_t uid = random_below(users);
			char host[24];

			if (random_below(4)) {
				cost_ran(t, uid, 1 + random_below(KEYS), random_below(COST_PLACES),
					 &(struct cost_run){ .time_us = any_value(),
							     .used = random_below(2),
							     .cpu_us = any_value(),
							     .memory_kib = any_value(),
							     .bytes = any_value() },
					 any_time());
			} else {
				snprintf(host, sizeof(host), "h%u", (unsigned int)random_below(40));
				cost_transferred(t, uid, host, any_value(), any_time());
			}
		}
		assert_true(cost_count(t) <= COST_ENTRIES);
		for (uint32_t uid = 0; uid < users; uid++)
			for (uint64_t k = 1; k <= KEYS; k++) {
				struct cost_expected e;

				if (!cost_expect(t, uid, k, any_time(), &e))
					continue;
				assert_true(e.runs >= COST_FEW && e.runs <= 1000000);
				assert_true(e.time_us <= 1ull << 48 && e.most_us >= e.time_us &&
					    e.most_us <= 3ull << 48);
				assert_true(e.cpu_us <= 1ull << 48 && e.memory_kib <= 1ull << 48 &&
					    e.bytes <= 1ull << 48 && e.transfer_us <= 1ull << 48);
			}
		read = back(t);
		same(t, read, users, KEYS);
		cost_free(read);
		cost_free(t);
	}
}

/* A full table of the longest lines is text that can be read again. */
static void test_full(void **state)
{
	struct cost_table *t = cost_new();

	for (uint32_t uid = 0; uid < COST_USERS; uid++) {
		for (uint64_t k = 0; k < COST_ENTRIES / COST_USERS; k++)
			for (int place = 0; place < COST_PLACES; place++)
				cost_ran(t, UINT32_MAX - uid, UINT64_MAX - k, place,
					 &(struct cost_run){ UINT64_MAX, true, UINT64_MAX,
							     UINT64_MAX, UINT64_MAX },
					 INT64_MAX);
		for (int i = 0; i < COST_HOSTS; i++) {
			char host[24];

			snprintf(host, sizeof(host), "h%d", i);
			cost_transferred(t, UINT32_MAX - uid, host, UINT64_MAX, INT64_MAX);
		}
	}
	assert_int_equal(cost_count(t), COST_ENTRIES);
	cost_free(back(t));
	cost_free(t);
}

/* Others cannot make a user forget who has fewer programs than they. */
static void test_share(void **state)
{
	enum { MINE = 100 };
	struct cost_table *t = cost_new();
	struct cost_expected e;

	cost_transferred(t, ME, "n1", 5000, NOW);
	for (int k = 1; k <= MINE; k++)
		for (int i = 0; i < COST_FEW; i++)
			ran(t, ME, k, COST_AWAY, 1000, NOW);
	for (int i = 0; i < 40000; i++) {
		const uint32_t uid = OTHER + random_below(3);

		ran(t, uid, random_64() | 1, random_below(2), any_value(), any_time());
		cost_transferred(t, uid, "n1", any_value(), any_time());
	}
	assert_int_equal(cost_count(t), COST_ENTRIES);
	for (int k = 1; k <= MINE; k++) {
		assert_true(cost_expect(t, ME, k, NOW, &e) && e.runs == COST_FEW &&
			    e.time_us == 1000 && e.transfer_us == 5000);
		assert_true(is_short(t, ME, k, NOW));
	}
	cost_free(t);
	/* alone, he loses what was not used for longest */
	t = cost_new();
	for (uint64_t k = 1; k <= COST_ENTRIES + 1; k++) {
		for (int i = 0; i < COST_FEW; i++)
			ran(t, ME, k, COST_HERE, 1000, NOW);
		if (k > 1) /* the first is used again and again */
			ran(t, ME, 1, COST_HERE, 1000, NOW);
	}
	assert_int_equal(cost_count(t), COST_ENTRIES);
	assert_true(cost_expect(t, ME, 1, NOW, &e));
	assert_false(cost_expect(t, ME, 2, NOW, &e));
	assert_true(cost_expect(t, ME, 3, NOW, &e));
	cost_free(t);
}

/* ---- text ---- */

static void refused(const char *text, const char *wanted)
{
	char why[COST_WHY] = "";

	if (cost_read(text, why))
		fail_msg("%s is accepted", text);
	if (!strstr(why, wanted))
		fail_msg("%s: %s, and not %s", text, why, wanted);
}

#define HEAD "ehsched-costs 1\n"
#define RUNS " 0000000000000001 5 3 0 7 1 0 0 0 0 0 0\n"

static void test_refused(void **state)
{
	refused("", "line 1: not of this version");
	refused("ehsched-costs 2\n", "line 1: not of this version");
	refused(HEAD, "line 2: of no user");
	refused(HEAD "user 1\nthere" RUNS, "line 3: not known");
	refused(HEAD "here" RUNS, "line 2: of no user");
	refused(HEAD "user -1\n", "line 2: not a user");
	refused(HEAD "user 4294967296\n", "line 2: not a user");
	refused(HEAD "user 1\nhere 0000000000000000 5 3 0 7 1 0 0 0 0 0 0\n",
		"line 3: not the runs");
	refused(HEAD "user 1\nhere 0000000000000001 5 0 0 7 1 0 0 0 0 0 0\n",
		"line 3: not the runs");
	refused(HEAD "user 1\nhere 0000000000000001 5 3 0 7 281474976710657 0 0 0 0 0 0\n",
		"line 3: not the runs");
	refused(HEAD "user 1\nhere 0000000000000001 9223372036854775808 3 0 7 1 0 0 0 0 0 0\n",
		"line 3: not the runs");
	refused(HEAD "user 1\nhere" RUNS "here" RUNS, "line 4: a program twice");
	refused(HEAD "user 1\nhost" RUNS "host" RUNS, "line 4: a host twice");
	refused(HEAD "user 1\nhere" RUNS "end 0000000000000000\n", "line 4: the checksum");
	refused(HEAD "user 1\nhere" RUNS "end 00\nmore", "line 4: not the end");
}

/* Whatever happens to it, it is taken whole, as it was, or not at all. */
static void test_corrupt(void **state)
{
	struct cost_table *t = cost_new();
	char *text, why[COST_WHY];
	size_t length;

	for (int i = 0; i < 200; i++)
		ran(t, random_below(5), 1 + random_below(9), random_below(2), random_below(9999),
		    NOW);
	cost_transferred(t, 1, "n1", 5000, NOW);
	text = cost_write(t);
	length = strlen(text);
	for (int i = 0; i < 3000; i++) {
		char *copy = strdup(text);
		const size_t at = random_below(length);
		struct cost_table *read;

		switch (random_below(3)) {
		case 0:
			copy[at] ^= 1 << random_below(7);
			break;
		case 1:
			copy[at] = '\0';
			break;
		case 2:
			memmove(copy + at, copy + at + 1, length - at);
			break;
		}
		read = cost_read(copy, why);
		/* a byte that is one of two equal ones, or the last */
		if (read && strcmp(copy, text))
			fail_msg("taken though byte %zu is another", at);
		assert_true(read || strstr(why, "line "));
		cost_free(read);
		free(copy);
	}
	free(text);
	cost_free(t);
	t = cost_new();
	cost_free(back(t));
	cost_free(t);
	cost_free(NULL);
}

/* A checksum that begins with 0, and has lost it: the number is the same, the text is not. */
static void test_short_sum(void **state)
{
	struct cost_table *t = cost_new();
	char *text = NULL, *end, why[COST_WHY];

	for (int i = 0; i < 10000; i++) {
		ran(t, 1, 1, COST_HERE, random_below(9999), NOW);
		free(text);
		text = cost_write(t);
		end = strstr(text, "\nend 0");
		if (end)
			break;
	}
	assert_non_null(end);
	memmove(end + 5, end + 6, strlen(end + 5));
	assert_null(cost_read(text, why));
	assert_non_null(strstr(why, "not the end"));
	free(text);
	cost_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_key),	 cmocka_unit_test(test_decision),
		cmocka_unit_test(test_transfer), cmocka_unit_test(test_decay),
		cmocka_unit_test(test_hostile),	 cmocka_unit_test(test_full),
		cmocka_unit_test(test_share),	 cmocka_unit_test(test_refused),
		cmocka_unit_test(test_corrupt),	 cmocka_unit_test(test_short_sum),
		cmocka_unit_test(test_memory),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
