// SPDX-License-Identifier: GPL-2.0-or-later
/* Short forms of placement IDs. */
#include "cluster/shortid.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define LONG "46116860184273"

static json_t *list(const char *first, ...)
{
	json_t *ids = json_array();
	const char *id;
	va_list more;

	va_start(more, first);
	for (id = first; id; id = va_arg(more, const char *))
		json_array_append_new(ids, json_string(id));
	va_end(more);
	return ids;
}

static void is_short(const json_t *ids, const char *id, const char *wanted)
{
	json_t *made = shortid_make(ids, id);

	assert_string_equal(json_string_value(made), wanted);
	json_decref(made);
}

static void test_make(void **state)
{
	json_t *ids = list("0.1:" LONG "91999", "0.1:" LONG "92999", "0.1:" LONG "90123",
			   "0.2:" LONG "91998", "0.1:42", "0.1:" LONG "90000", NULL);

	/* two end with 2999 and 1999 */
	is_short(ids, "0.1:" LONG "91999", "0.1:1999");
	is_short(ids, "0.1:" LONG "92999", "0.1:2999");
	/* no 0 in front */
	is_short(ids, "0.1:" LONG "90123", "0.1:90123");
	is_short(ids, "0.1:" LONG "90000", "0.1:90000");
	/* other homes do not matter */
	is_short(ids, "0.2:" LONG "91998", "0.2:1998");
	/* as short as can be */
	is_short(ids, "0.1:42", "0.1:42");
	json_decref(ids);
	/* the ends are the same: more figures */
	ids = list("0.1:" LONG "71999", "0.1:" LONG "81999", NULL);
	is_short(ids, "0.1:" LONG "71999", "0.1:71999");
	is_short(ids, "0.1:" LONG "81999", "0.1:81999");
	json_decref(ids);
	/* one is the end of the other */
	ids = list("0.1:1999", "0.1:" LONG "1999", NULL);
	is_short(ids, "0.1:1999", "0.1:1999");
	is_short(ids, "0.1:" LONG "1999", "0.1:31999");
	json_decref(ids);
	is_short(NULL, "odd", "odd");
	is_short(NULL, "", "");
}

/* What another host says is no ID of this home because it begins so. */
static void test_of_others(void **state)
{
	json_t *ids = json_pack("[s, s]", "0.1:x:45678", "0.1:45678");
	const char *id;
	char why[160];

	assert_int_equal(shortid_find(ids, "0.1", "n1:45678", &id, why, sizeof(why)), 0);
	assert_string_equal(id, "0.1:45678");
	assert_int_equal(shortid_find(ids, "0.1", "n1:5678", &id, why, sizeof(why)), 0);
	assert_string_equal(id, "0.1:45678");
	json_decref(ids);
}

static void test_find(void **state)
{
	json_t *ids = list("0.1:" LONG "71999", "0.1:" LONG "81999", "0.1:" LONG "81999",
			   "0.2:" LONG "1999", "0.1:42", "0.1:142", "0.1:7777", "0.1:97777", NULL);
	char why[200];
	const char *id;

	assert_int_equal(shortid_find(ids, "0.1", "n1:71999", &id, why, sizeof(why)), 0);
	assert_string_equal(id, "0.1:" LONG "71999");
	assert_int_equal(shortid_find(ids, "0.1", "0.1:81999", &id, why, sizeof(why)), 0);
	assert_string_equal(id, "0.1:" LONG "81999");
	assert_int_equal(shortid_find(ids, "0.1", "0.1:1999", &id, why, sizeof(why)), -ENOTUNIQ);
	assert_string_equal(why,
			    "more than one task ends so: 0.1:" LONG "71999, 0.1:" LONG "81999");
	assert_int_equal(shortid_find(ids, "0.2", "0.2:1999", &id, why, sizeof(why)), 0);
	assert_string_equal(id, "0.2:" LONG "1999");
	/* a whole ID is what it says, though another ends so */
	assert_int_equal(shortid_find(ids, "0.1", "n1:42", &id, why, sizeof(why)), 0);
	assert_string_equal(id, "0.1:42");
	assert_int_equal(shortid_find(ids, "0.1", "0.1:7777", &id, why, sizeof(why)), 0);
	assert_string_equal(id, "0.1:7777");
	/* and a short number is never the end of another */
	assert_int_equal(shortid_find(ids, "0.1", "0.1:999", &id, why, sizeof(why)), -ENOENT);
	assert_int_equal(shortid_find(ids, "0.1", "0.1:2", &id, why, sizeof(why)), -ENOENT);
	assert_int_equal(shortid_find(ids, "0.1", "0.1:", &id, why, sizeof(why)), -ENOENT);
	assert_int_equal(shortid_find(ids, NULL, "elsewhere:71999", &id, why, sizeof(why)),
			 -ENOENT);
	assert_int_equal(shortid_find(ids, NULL, "0.1:" LONG "71999", &id, why, sizeof(why)), 0);
	/* a message that is cut has an end */
	assert_int_equal(shortid_find(ids, "0.1", "0.1:1999", &id, why, 20), -ENOTUNIQ);
	assert_int_equal(strlen(why), 19);
	json_decref(ids);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_make),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
