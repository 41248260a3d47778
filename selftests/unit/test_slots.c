// SPDX-License-Identifier: GPL-2.0-or-later
/* Shares of builds, compared with giving slots one by one to the user with the fewest; and free processors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "eh/slots.h"
#include "random.h"

#define CLAIMS 12
#define USERS 4
#define CLAIM(u, b, has, want)                                             \
	{                                                                  \
		.user = (u), .builds = (b), .used = (has), .wants = (want) \
	}

static unsigned int granted(const struct eh_slots_claim *c, size_t n, uint32_t user)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += c[i].user == user ? c[i].granted : 0;
	return sum;
}

static void test_two_users(void **state)
{
	/* The second user's two builds get together what the first user's one gets. */
	struct eh_slots_claim c[] = { CLAIM(1, 1, 4, 100), CLAIM(2, 1, 4, 100),
				      CLAIM(2, 1, 4, 100) };

	assert_true(eh_slots_share(12, c, 3));
	assert_int_equal(granted(c, 3, 1), 6);
	assert_int_equal(c[1].granted, 3);
	assert_int_equal(c[2].granted, 3);
}

static void test_what_nobody_wants(void **state)
{
	struct eh_slots_claim c[] = { CLAIM(1, 1, 1, 2), CLAIM(2, 1, 4, 100) };

	assert_true(eh_slots_share(12, c, 2));
	assert_int_equal(granted(c, 2, 1), 2);
	assert_int_equal(granted(c, 2, 2), 10);
	/* If nobody wants it, all get it. */
	c[0].wants = c[1].wants = 2;
	assert_true(eh_slots_share(12, c, 2));
	assert_int_equal(c[0].granted, 6);
	assert_int_equal(c[1].granted, 6);
}

static void test_too_few(void **state)
{
	struct eh_slots_claim c[] = { CLAIM(1, 3, 3, 9), CLAIM(2, 1, 1, 9) };

	assert_true(eh_slots_share(0, c, 2));
	assert_int_equal(c[0].granted, 3);
	assert_int_equal(c[1].granted, 1);
	assert_true(eh_slots_share(5, c, 2));
	assert_int_equal(granted(c, 2, 2), 2);
	assert_true(eh_slots_share(7, NULL, 0));
}

/* What each user gets if slots are given one by one to the user who has the fewest and wants more. */
static void one_by_one(unsigned int slots, const struct eh_slots_claim *c, size_t n,
		       unsigned int got[USERS])
{
	unsigned int wants[USERS] = { 0 }, sum = 0;

	for (unsigned int u = 0; u < USERS; u++)
		got[u] = 0;
	for (size_t i = 0; i < n; i++) {
		got[c[i].user] += c[i].builds;
		wants[c[i].user] += c[i].wants > c[i].builds ? c[i].wants : c[i].builds;
		sum += c[i].builds;
	}
	for (; sum < slots; sum++) {
		unsigned int best = USERS;

		for (unsigned int u = 0; u < USERS; u++)
			if (got[u] < wants[u] && (best == USERS || got[u] < got[best]))
				best = u;
		if (best == USERS)
			return;
		got[best]++;
	}
}

static void test_random(void **state)
{
	random_begin();
	for (int round = 0; round < 20000; round++) {
		struct eh_slots_claim c[CLAIMS];
		const size_t n = 1 + random_below(CLAIMS);
		const unsigned int slots = random_below(100);
		unsigned int expected[USERS], builds = 0, all = 0, wants = 0;

		for (size_t i = 0; i < n; i++) {
			c[i] = (struct eh_slots_claim){ .user = random_below(USERS),
							.builds = 1 + random_below(3),
							.wants = random_below(40) };
			builds += c[i].builds;
		}
		one_by_one(slots, c, n, expected);
		assert_true(eh_slots_share(slots, c, n));
		for (size_t i = 0; i < n; i++) {
			assert_true(c[i].granted >= c[i].builds);
			all += c[i].granted;
			wants += c[i].wants > c[i].builds ? c[i].wants : c[i].builds;
		}
		assert_int_equal(all, slots > builds ? slots : builds);
		for (uint32_t u = 0; u < USERS && wants >= slots; u++) {
			const int differs = (int)granted(c, n, u) - (int)expected[u];

			/* Among equals, who gets the odd one is open. */
			assert_in_range(differs + 1, 0, 2);
		}
	}
}

static void test_beside_others(void **state)
{
	struct eh_slots_others o = { 0 };
	unsigned int n;

	assert_int_equal(eh_slots_free(&o, 6000, 0, 0, 1000), 6);
	/* Builds' own load is not a reason to give them less, nor that it is seen late. */
	assert_int_equal(eh_slots_free(&o, 6000, 6000, 6, 2000), 6);
	assert_int_equal(eh_slots_free(&o, 6000, 0, 6, 3000), 6);
	o.known = false;
	assert_int_equal(eh_slots_free(&o, 6000, 8000, 6, 3000), 4);
	/* Somebody's four tasks come: in steps, without one that is too far. */
	o = (struct eh_slots_others){ 0 };
	n = eh_slots_free(&o, 6000, 6000, 6, 1000);
	for (uint64_t now = 1250; now < 9000; now += 250) {
		unsigned int next = eh_slots_free(&o, 6000, (uint64_t)n * 1000 + 4000, n, now);

		assert_true(next <= n && next >= 2);
		n = next;
	}
	assert_int_equal(n, 2);
	for (uint64_t now = 9000; now < 20000; now += 250)
		n = eh_slots_free(&o, 6000, (uint64_t)n * 1000, n, now);
	assert_int_equal(n, 6);
	assert_int_equal(eh_slots_free(&o, 6000, 900000, 1, 90000), 0);
	assert_int_equal(eh_slots_offer(0, 3), 0);
	assert_int_equal(eh_slots_offer(1, 1), 2);
	assert_int_equal(eh_slots_offer(3, 3), 6);
	assert_int_equal(eh_slots_offer(2, 64), 4);
	assert_int_equal(eh_slots_offer(8, 1), 9);
	assert_int_equal(eh_slots_offer(64, 8), 72);
	assert_int_equal(eh_slots_offer(64, 1), 72);
}

/* A node may say that it has 2^32 of all. What was long ago is forgotten, however much it was. */
static void test_beside_liars(void **state)
{
	const uint64_t much = 1ull << 44;
	struct eh_slots_others o = { 0 };

	assert_int_equal(eh_slots_free(&o, much, much, 0, 1000), 0);
	assert_int_equal(eh_slots_free(&o, much, 0, 0, 1000 + 30 * 86400000ull), INT32_MAX);
	assert_in_range(eh_slots_free(&o, 6000, 0, 0, 1ull << 41), 5, 6);
	assert_true(o.mean >= 0 && o.mean < 1000);
	/* More than a number has room for is the most that it has. */
	o.known = false;
	assert_int_equal(eh_slots_free(&o, 1ull << 52, 0, 0, 0), INT32_MAX);
	assert_true(eh_slots_offer(INT32_MAX, UINT32_MAX) > INT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_users),     cmocka_unit_test(test_what_nobody_wants),
		cmocka_unit_test(test_too_few),	      cmocka_unit_test(test_random),
		cmocka_unit_test(test_beside_others), cmocka_unit_test(test_beside_liars),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
