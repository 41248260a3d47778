// SPDX-License-Identifier: GPL-2.0-or-later
/* What nodes say in a survey: the form that it must have, and the room that it may take. */
#include "ctl/survey_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "net/h2_stream.h"
#include "random.h"

#define DAY_MS 86400000LL
#define NODES 12
#define ROUNDS 60

static json_t *document(const char *text)
{
	json_t *said = json_loads(text, 0, NULL);

	assert_non_null(said);
	return said;
}

static void assert_said(json_t *node, const char *text)
{
	json_t *wanted = document(text);
	char *shown = json_dumps(node, JSON_COMPACT);

	if (!json_equal(node, wanted))
		fail_msg("%s instead of %s", shown, text);
	free(shown);
	json_decref(wanted);
	json_decref(node);
}

static json_t *reads(const char *text, json_int_t newest, size_t most)
{
	json_t *said = document(text), *node = survey_answer_read(said, "0.1", newest, most);

	json_decref(said);
	return node;
}

static json_int_t newest_until(json_int_t until)
{
	json_t *question = json_pack("{s:I}", "until", until);
	const json_int_t newest = survey_answer_newest(SURVEY_TIME, question);

	json_decref(question);
	return newest;
}

static void test_newest(void **state)
{
	json_t *question = json_object();
	const json_int_t now = clock_wall_ms();

	(void)state;
	assert_true(survey_answer_newest(SURVEY_AGO, question) == 0);
	assert_true(survey_answer_newest(SURVEY_SUM, question) == INT64_MAX);
	assert_true(survey_answer_newest(SURVEY_TIME, question) >= now + DAY_MS);
	assert_true(survey_answer_newest(SURVEY_TIME, question) < now + DAY_MS + 60000);
	assert_true(newest_until(1000) == 999);
	assert_true(newest_until(INT64_MAX) < now + DAY_MS + 60000);
	json_object_set_new(question, "until", json_string("1000"));
	assert_true(survey_answer_newest(SURVEY_TIME, question) >= now + DAY_MS);
	json_decref(question);
}

static void test_form(void **state)
{
	char *text = NULL;

	(void)state;
	assert_said(reads("{\"node\":\"0.7\",\"items\":[{\"at\":-1,\"x\":[]}],\"rest\":-1}", 0, 9),
		    "{\"node\":\"0.1\",\"items\":[{\"at\":-1,\"x\":[]}],\"rest\":-1}");
	assert_said(
		reads("{\"items\":[{\"at\":0},{\"at\":1},{\"at\":\"0\"},{},[],null,7,{\"at\":0.5},{\"at\":-2}]}",
		      0, 9),
		"{\"node\":\"0.1\",\"items\":[{\"at\":0},{\"at\":-2}]}");
	assert_said(reads("{\"items\":[{\"at\":1},{\"at\":2},{\"at\":3}],\"rest\":0.5,\"more\":1}",
			  9, 2),
		    "{\"node\":\"0.1\",\"items\":[{\"at\":1},{\"at\":2}]}");
	for (const char *const *at =
		     (const char *const[]){ "{}", "[]", "7", "null", "{\"items\":{\"at\":1}}",
					    "{\"refused\":7}", NULL };
	     *at; at++) {
		json_t *said = json_loads(*at, JSON_DECODE_ANY, NULL);

		assert_said(survey_answer_read(said, "0.1", 0, 9),
			    "{\"node\":\"0.1\",\"items\":[]}");
		json_decref(said);
	}
	assert_said(reads("{\"refused\":\"no guests\",\"items\":[{\"at\":0}],\"rest\":0}", 0, 9),
		    "{\"node\":\"0.1\",\"refused\":\"no guests\"}");
	assert_true(asprintf(&text, "{\"refused\":\"%0*d\"}", 5000, 0) > 0);
	assert_said(reads(text, 0, 9), "{\"node\":\"0.1\",\"items\":[]}");
	free(text);
}

static bool holds_back(const char *text, size_t most)
{
	json_t *node = document(text);
	const bool is = survey_answer_holds_back(node, most);

	json_decref(node);
	return is;
}

static void test_holding_back(void **state)
{
	json_t *node = document("{\"items\":[{\"at\":5}],\"rest\":4}");
	char *text;

	(void)state;
	assert_true(holds_back("{\"items\":[{\"at\":5}],\"rest\":4}", 2));
	assert_true(holds_back("{\"items\":[],\"rest\":4}", 1));
	assert_false(holds_back("{\"items\":[{\"at\":5}],\"rest\":4}", 1));
	assert_false(holds_back("{\"items\":[{\"at\":5}]}", 2));
	assert_false(holds_back("{\"refused\":\"no guests\"}", 2));
	/* an answer that is full has as much as it can */
	text = malloc(H2_JSON_MAX);
	assert_non_null(text);
	memset(text, 'x', H2_JSON_MAX - 1);
	text[H2_JSON_MAX - 1] = '\0';
	json_object_set_new(json_array_get(json_object_get(node, "items"), 0), "x",
			    json_string(text));
	assert_false(survey_answer_holds_back(node, 2));
	free(text);
	json_decref(node);
}

static json_t *checked(const char *text)
{
	json_t *nodes = document(text);

	survey_answer_check_rest(nodes);
	return nodes;
}

static void test_rest(void **state)
{
	(void)state;
	assert_said(
		checked("[{\"items\":[{\"at\":5},{\"at\":3}],\"rest\":9},{\"items\":[{\"at\":1}]}]"),
		"[{\"items\":[{\"at\":5},{\"at\":3}],\"rest\":3},{\"items\":[{\"at\":1}]}]");
	assert_said(checked("[{\"items\":[{\"at\":5}],\"rest\":-9}]"),
		    "[{\"items\":[{\"at\":5}],\"rest\":-9}]");
	assert_said(
		checked("[{\"items\":[],\"rest\":9},{\"items\":[{\"at\":4}]},{\"refused\":\"no\"}]"),
		"[{\"items\":[],\"rest\":4},{\"items\":[{\"at\":4}]},{\"refused\":\"no\"}]");
	assert_said(checked("[{\"items\":[],\"rest\":9},{\"items\":[]}]"),
		    "[{\"refused\":\"its answer is of no use\"},{\"items\":[]}]");
}

/* ---- what is too much ---- */

static json_t *draw_list(json_int_t *number)
{
	json_t *items = json_array();
	char text[3000];

	for (uint32_t i = random_below(200); i; i--) {
		const uint32_t length = random_below(sizeof(text) - 1);

		memset(text, 'x', length);
		text[length] = '\0';
		json_array_append_new(items, json_pack("{s:I,s:I,s:s}", "at",
						       (json_int_t)random_below(500), "number",
						       ++*number, "x", text));
	}
	return items;
}

static int later_first(const void *a, const void *b)
{
	const json_int_t *x = a, *y = b;

	return *x < *y ? 1 : *x > *y ? -1 : 0;
}

static size_t times_of(const json_t *node, json_int_t at[200])
{
	const json_t *items = json_object_get(node, "items"), *item;
	size_t i;

	json_array_foreach((json_t *)items, i, item)
		at[i] = json_integer_value(json_object_get(item, "at"));
	qsort(at, json_array_size(items), sizeof(*at), later_first);
	return json_array_size(items);
}

/* The first ones are there, in their order; `rest` is that of the first one that is not. */
static void assert_is_cut(const json_t *node, const json_t *was, json_int_t *first_left)
{
	json_int_t before[200], after[200];
	const size_t n = times_of(was, before), k = times_of(node, after);
	const json_t *rest = json_object_get(node, "rest"), *had = json_object_get(was, "rest");

	assert_true(k <= n);
	assert_memory_equal(before, after, k * sizeof(*after));
	if (k == n) {
		assert_true(json_equal(rest, had) || (!rest && !had));
		return;
	}
	assert_non_null(rest);
	assert_true(json_integer_value(rest) >= before[k]);
	assert_true(json_integer_value(rest) == before[k] || json_equal(rest, had));
	*first_left = before[k] > *first_left ? before[k] : *first_left;
}

static void cut_at_random(size_t most, bool fair)
{
	const uint32_t n = 1 + random_below(NODES);
	json_t *nodes = json_array(), *was, *one;
	json_int_t number = 0, left = INT64_MIN;
	size_t i, kept = 0, all = 0, part = most / 2 / n, whole = 0;

	for (i = 0; i < n; i++) {
		one = json_pack("{s:o}", "items", draw_list(&number));
		if (!random_below(3))
			json_object_set_new(one, "rest", json_integer(-1));
		json_array_append_new(nodes, one);
	}
	was = json_deep_copy(nodes);
	survey_answer_cut(nodes, most, fair);
	json_array_foreach(nodes, i, one) {
		const json_t *before = json_array_get(was, i);
		const size_t had = json_array_size(json_object_get(before, "items"));
		const size_t has = json_array_size(json_object_get(one, "items"));

		assert_is_cut(one, before, &left);
		kept += has;
		all += had;
		whole += had == has;
		/* 3,000 bytes each at most */
		if (fair && part < H2_JSON_MAX / 3 / n / 3100)
			assert_true(has >= (had < part ? had : part));
	}
	assert_true(kept <= most);
	assert_true(json_dumpb(nodes, NULL, 0, JSON_COMPACT) <= H2_JSON_MAX);
	assert_true(all > most || whole == n ||
		    json_dumpb(was, NULL, 0, JSON_COMPACT) > H2_JSON_MAX / 2);
	/* without parts, what is left out is of no later time than what is told */
	for (i = 0; !fair && i < n; i++) {
		json_int_t at[200];
		const size_t k = times_of(json_array_get(nodes, i), at);

		assert_true(!k || at[k - 1] > left);
	}
	json_decref(nodes);
	json_decref(was);
}

static void test_cut(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++)
		cut_at_random(1 + random_below(1200), i & 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_newest),	     cmocka_unit_test(test_form),
		cmocka_unit_test(test_holding_back), cmocka_unit_test(test_rest),
		cmocka_unit_test(test_cut),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
