// SPDX-License-Identifier: GPL-2.0-or-later
/* What strings of others may have, and what is left of them where they are printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cluster/speech.h"
#include "wire/clean.h"

/* `wrong`: what is said of it; NULL: it is taken. */
static void said(const char *text, const char *wrong)
{
	char why[SPEECH_WHY];
	json_t *o = speech_object(text, strlen(text), why);

	if (!wrong) {
		if (!o)
			fail_msg("%s: %s", text, why);
	} else {
		if (o)
			fail_msg("%s is taken", text);
		assert_string_equal(why, wrong);
		assert_true(clean_is(why));
	}
	json_decref(o);
}

static void test_object(void **state)
{
	said("{}", NULL);
	said("{\"a\":\"na\xc3\xafve \xe2\x82\xac\",\"b\":[1,null,{\"c\":\"\"}]}", NULL);
	said("", "is not a JSON object");
	said("[]", "is not a JSON object");
	said("{\"a\":1,\"a\":2}", "is not a JSON object");
	said("{\"a\":\"\xff\"}", "is not a JSON object");
	said("{\"a\":\"\\u0000\"}", "is not a JSON object");
}

static void test_characters(void **state)
{
	static const char *const bad[] = {
		"\\u0001", "\\u001b[2J", "\\n",	    "\\t",     "\\u007f",
		"\\u009b", "\\u0085",	 "\\u2028", "\\u202e", "\\u2066"
	};
	char text[128];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(text, sizeof(text), "{\"reason\":\"a%sb\"}", bad[i]);
		said(text, "has a string in reason with a character that is not allowed");
		snprintf(text, sizeof(text), "{\"x\":[0,{\"y\":[\"%s\"]}]}", bad[i]);
		said(text, "has a string in y with a character that is not allowed");
		snprintf(text, sizeof(text), "{\"x\":{\"a%s\":1}}", bad[i]);
		said(text, "has a member whose name is not allowed");
	}
}

/* Names of files may have any character, and only strings are names. */
static void test_files(void **state)
{
	said("{\"path\":\"/tmp/a\\u001b[2J\\nb\"}", NULL);
	said("{\"cwd\":{\"path\":\"/\\u0001\"},\"mounts\":[\"/\",\"/\\u007f\"]}", NULL);
	said("{\"path\":{\"x\":\"\\u001b\"}}",
	     "has a string in x with a character that is not allowed");
	said("{\"path\":{\"\\u001b\":1}}", "has a member whose name is not allowed");
}

static void test_pem(void **state)
{
	said("{\"certificate\":\"-----BEGIN X-----\\nabc\\n-----END X-----\\n\"}", NULL);
	said("{\"certificate\":\"abc\\n\\u001b[2J\"}",
	     "has a string in certificate with a character that is not allowed");
	said("{\"reason\":\"-----BEGIN X-----\\n\"}",
	     "has a string in reason with a character that is not allowed");
}

static void long_of(const char *member, size_t length, const char *wrong)
{
	char *value = malloc(length + 1), *text;

	assert_non_null(value);
	memset(value, 'x', length);
	value[length] = '\0';
	assert_true(asprintf(&text, "{\"%s\":\"%s\"}", member, value) > 0);
	said(text, wrong);
	free(text);
	free(value);
}

static void test_length(void **state)
{
	char name[SPEECH_NAME + 2], text[SPEECH_NAME + 16];

	long_of("a", SPEECH_STRING, NULL);
	long_of("a", SPEECH_STRING + 1, "has a string in a that is too long");
	long_of("request", SPEECH_STRING + 1, NULL);
	long_of("path", SPEECH_STRING + 1, NULL);
	for (size_t n = SPEECH_NAME; n <= SPEECH_NAME + 1; n++) {
		memset(name, 'x', n);
		name[n] = '\0';
		snprintf(text, sizeof(text), "{\"%s\":1}", name);
		said(text, n > SPEECH_NAME ? "has a member whose name is not allowed" : NULL);
	}
}

static void test_clean(void **state)
{
	json_t *o =
		json_loads("{\"a\":\"x\\u001b[2J\\n\\u009by\",\"b\":[\"\\u007f\",1],\"\\u0007\":2,"
			   "\"path\":\"/\\u202e\",\"certificate\":\"a\\nb\",\"c\":{\"d\":\"e\"}}",
			   0, NULL);
	char *text;

	assert_non_null(o);
	speech_clean(o);
	text = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
	/* Each byte of a character that is not clean is a "?". */
	assert_string_equal(text, "{\"a\":\"x?[2J???y\",\"b\":[\"?\",1],\"c\":{\"d\":\"e\"},"
				  "\"certificate\":\"a?b\",\"path\":\"/???\"}");
	free(text);
	json_decref(o);
	speech_clean(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_object), cmocka_unit_test(test_characters),
		cmocka_unit_test(test_files),  cmocka_unit_test(test_pem),
		cmocka_unit_test(test_length), cmocka_unit_test(test_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
