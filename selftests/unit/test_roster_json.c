// SPDX-License-Identifier: GPL-2.0-or-later
/* A roster as text: what is refused, and how long it takes to read the longest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <cmocka.h>

#include "cluster/roster_json.h"
#include "cluster/statement.h"
#include "random.h"

#define HEAD "{\"topology\":{\"n\":3,\"l\":1},\"version\":1048576,\"roster\":"
#define N1 "{\"code\":\"0.1\",\"host\":\"n1\",\"address\":\"1.2.3.4:5\",\"version\":1}"

#define MANY 12000 /* entries: about as many as a message has room for */

static void test_json(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"topology\":{\"n\":3,\"l\":1},\"version\":0}",
		"{\"topology\":{\"n\":0,\"l\":1},\"version\":0,\"roster\":[]}",
		"{\"topology\":{\"n\":30,\"l\":2},\"version\":0,\"roster\":[]}",
		"{\"topology\":{\"n\":3,\"l\":1},\"version\":-1,\"roster\":[]}",
		"{\"topology\":{\"n\":3,\"l\":1},\"version\":9223372036854775807,\"roster\":[]}",
		"{\"topology\":{\"n\":3,\"l\":1},\"version\":0,\"roster\":{}}",
		"{\"topology\":{\"n\":3,\"l\":1},\"version\":0,\"roster\":[" N1 "]}",
		HEAD "[3]}",
		HEAD "[{}]}",
		HEAD "[" N1 "," N1 "]}",
		HEAD "[{\"code\":\"0.8\",\"host\":\"n\",\"address\":\"1.2.3.4:5\",\"version\":1}]}",
		HEAD "[{\"code\":\"0\",\"host\":\"n\",\"address\":\"1.2.3.4:5\",\"version\":1}]}",
		HEAD "[{\"code\":\"0.1\",\"host\":\"\",\"address\":\"1.2.3.4:5\",\"version\":1}]}",
		HEAD "[{\"code\":\"0.1\",\"host\":\"n\",\"address\":\"n:5\",\"version\":1}]}",
		HEAD
		"[{\"code\":\"0.1\",\"host\":\"n\",\"address\":\"1.2.3.4:5\",\"version\":-1}]}",
		HEAD "[{\"code\":\"0.1\",\"host\":\"n\",\"address\":\"1.2.3.4:5\",\"version\":2}]}",
		HEAD
		"[{\"code\":\"0.1\",\"host\":\"n\",\"address\":\"1.2.3.4:5\",\"version\":1,\"sign\":7}]}",
		HEAD
		"[{\"code\":\"0.1\",\"host\":\"n\",\"address\":\"1.2.3.4:5\",\"version\":1,\"cert\":\"\",\"by\":{}}]}",
		HEAD "[{\"code\":\"0.1\",\"host\":7,\"address\":\"1.2.3.4:5\",\"version\":1}]}",
	};
	json_t *good = json_loads(HEAD "[" N1 "]}", 0, NULL);
	const char *why = "";
	struct roster *r = roster_from_json(good, &why);

	assert_non_null(r);
	assert_string_equal(roster_by_code(r, 1)->host, "n1");
	assert_false(roster_by_code(r, 1)->left);
	roster_free(r);
	json_decref(good);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *o = json_loads(bad[i], 0, NULL);

		assert_non_null(o);
		why = NULL;
		if (roster_from_json(o, &why) || !why)
			fail_msg("%s was taken, or without a reason refused", bad[i]);
		json_decref(o);
	}
}

/* The processor time in which it is read, in seconds. */
static double reading(bool forward)
{
	json_t *list = json_array(), *o;
	struct timespec begin, end;
	const char *why = "";
	struct roster *r;
	char code[32];

	for (unsigned int i = 0; i < MANY; i++) {
		unsigned int at = forward ? i : MANY - 1 - i;

		snprintf(code, sizeof(code), "0.%u.%u", at / 1024, at % 1024);
		json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:i}", "code", code, "host",
						      "n", "address", "1.2.3.4:5", "version", 0));
	}
	o = json_pack("{s:{s:i,s:i},s:i,s:o}", "topology", "n", 10, "l", 2, "version", 0, "roster",
		      list);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	r = roster_from_json(o, &why);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	if (!r)
		fail_msg("%s", why);
	assert_int_equal(roster_count(r), MANY);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(roster_at(r, i)->index, i);
	roster_free(r);
	json_decref(o);
	return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
}

/* A member sends them in the order that takes longest. */
static void test_any_order(void **state)
{
	double forward = reading(true), backward = reading(false);

	if (backward > 5 * forward + 0.05)
		fail_msg("%.3f s from the last to the first, %.3f s the other way", backward,
			 forward);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_any_order),
	};

	return cmocka_run_group_tests_name("roster_json", tests, NULL, NULL);
}
