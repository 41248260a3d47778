// SPDX-License-Identifier: GPL-2.0-or-later
/* Pairs of nodes: which are tested, how far apart clocks are, and what is said of what was found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cluster/pair.h"
#include "eh/topology.h"

static const struct pair_names names = { "n0", "n1", "10.0.0.2:7411" };

static void test_clock(void **state)
{
	/* question sent, answer here, the time in it; what it is ahead, and within what */
	static const int64_t rows[][5] = {
		{ 1000, 1000, 1000, 0, 0 },
		{ 1000, 1100, 1050, 0, 50 },
		{ 1000, 1100, 1000, -50, 50 },
		{ 1000, 1100, 1100, 50, 50 },
		{ 1000, 1001, 1000, -1, 1 },
		{ 1000, 5000, 63000, 60000, 2000 },
		{ 5000, 1000, 5000, 0, 0 },
		{ 1000, 1010, 0, -1005, 5 },
		{ 1700000000000, 1700000000020, 1700003600010, 3600000, 10 },
	};
	int64_t within;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(pair_skew(rows[i][0], rows[i][1], rows[i][2], &within),
				 rows[i][3]);
		assert_int_equal(within, rows[i][4]);
	}
	/* whichever part of the round trip the way there was, the true difference is within it */
	for (int64_t there = 0; there <= 101; there++) {
		const int64_t ahead = 12345, at = 1000 + there + ahead;
		int64_t skew = pair_skew(1000, 1101, at, &within);

		assert_true(llabs(skew - ahead) <= within);
	}
}

/* So many pairs of the first n nodes but those that are away, of which each is tested or not both ways. */
static unsigned int count(struct eh_topology t, uint32_t n, uint32_t away)
{
	uint32_t nodes[1024];
	unsigned int found = 0;
	size_t k = 0;

	for (uint32_t i = 0; i < n; i++)
		if (i != away)
			nodes[k++] = i;
	for (size_t a = 0; a < k; a++)
		for (size_t b = 0; b < k; b++) {
			bool is = pair_is_tested(&t, nodes, k, a, b);

			assert_int_equal(is, pair_is_tested(&t, nodes, k, b, a));
			assert_true(a != b || !is);
			found += is;
		}
	return found;
}

static void test_choice(void **state)
{
	const struct eh_topology two = { 4, 2 }, three = { 2, 4 };

	assert_int_equal(count(two, 32, -1), 32 * 31);
	assert_int_equal(count(two, 256, -1), 16 * 16 * 15 + 16 * 15);
	/* another node of its group controls it then */
	assert_int_equal(count(two, 256, 16), 15 * 16 * 15 + 15 * 14 + 16 * 15);
	assert_int_equal(count(three, 256, -1), (64 + 16 + 4 + 1) * 12);
}

/* What is said of these facts, as "level name, level name"; each text has a fix. */
static const char *judged(const char *facts)
{
	static char out[256];
	json_t *of = json_loads(facts, 0, NULL), *checks = pair_judge(of, &names), *c;
	size_t i;

	assert_non_null(of);
	*out = '\0';
	json_array_foreach(checks, i, c) {
		const char *level, *name, *what, *fix;

		assert_int_equal(json_unpack(c, "{s:s,s:s,s:s,s:s}", "level", &level, "name", &name,
					     "what", &what, "fix", &fix),
				 0);
		assert_true(*what && *fix);
		snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s %s", i ? ", " : "",
			 level, name);
	}
	json_decref(checks);
	json_decref(of);
	return out;
}

#define GOOD                                                                                    \
	"\"protocol\":3,\"release\":\"1\",\"from_release\":\"1\",\"addresses\":[\"10.0.0.2\"]," \
	"\"named\":true,\"skew_ms\":3,\"within_ms\":1,\"certificate_seconds\":90000000"

static void test_judgement(void **state)
{
	static const char *const rows[][2] = {
		{ "{" GOOD "}", "" },
		{ "{}", "" },
		{ "{\"failed\":\"port\",\"trouble\":\"Connection refused\"}", "error port" },
		{ "{\"failed\":\"certificate\",\"trouble\":\"x\"}", "error certificate" },
		{ "{\"failed\":\"version\",\"trouble\":\"x\"}", "error version" },
		{ "{\"failed\":\"refused\"}", "error refused" },
		{ "{\"certificate_seconds\":1209600}", "" },
		{ "{\"certificate_seconds\":1209599}", "warning certificate" },
		{ "{\"skew_ms\":2000,\"within_ms\":0}", "" },
		{ "{\"skew_ms\":2001,\"within_ms\":0}", "warning clock" },
		{ "{\"skew_ms\":-2001}", "warning clock" },
		{ "{\"skew_ms\":3000,\"within_ms\":1000}", "" },
		{ "{\"skew_ms\":-9223372036854775808,\"within_ms\":9223372036854775807}", "" },
		{ "{\"skew_ms\":-9223372036854775808,\"within_ms\":-9223372036854775807}",
		  "warning clock" },
		{ "{\"addresses\":[]}", "note name" },
		{ "{\"addresses\":null}", "warning name" },
		{ "{\"addresses\":[\"10.0.0.9\"],\"named\":false}", "warning name" },
		{ "{\"addresses\":[\"10.0.0.2\",\"fd00::2\"],\"named\":true,\"silent\":[\"fd00::2\"]}",
		  "warning address" },
		{ "{\"unknown_users\":[\"a\",\"b\"],\"unknown_others\":2}",
		  "warning user, warning user, warning user" },
		{ "{\"protocol\":1,\"from_release\":\"2\"}", "note version" },
		{ "{\"protocol\":3,\"release\":\"2\",\"from_release\":\"1\",\"skew_ms\":9999}",
		  "warning clock, note version" },
		/* of a liar */
		{ "{\"failed\":7,\"skew_ms\":\"x\",\"addresses\":{},\"silent\":[3],\"unknown_users\":[4,null],"
		  "\"unknown_others\":-1,\"certificate_seconds\":[]}",
		  "error refused, warning address" },
		/* of a later version */
		{ "{\"failed\":\"moon\",\"trouble\":\"x\"}", "error refused" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(judged(rows[i][0]), rows[i][1]);
}

/* A text of the other side that is too long is cut, and between two characters. */
static void test_long(void **state)
{
	for (size_t n = 600; n < 604; n++) {
		char facts[2048] = "{\"failed\":\"port\",\"trouble\":\"";

		memset(facts + strlen(facts), 'x', n % 4);
		for (size_t i = 0; i < n; i++)
			strcat(facts, "ö");
		strcat(facts, "\"}");
		assert_string_equal(judged(facts), "error port");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_judgement),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
