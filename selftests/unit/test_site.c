// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules of a site: users, groups, programs, directories and labels. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "site/label.h"
#include "site/map.h"
#include "site/node.h"
#include "site/what.h"
#include "site/who.h"

/* ---- maps of users ---- */

static void test_map(void **state)
{
	static const char *const good[] = { "*", "ann=asmith", "a1=b2", "root=ann", "ann=ann" };
	static const char *const bad[] = { "",	    "ann",  "=",    "ann=",    "=ann",
					   "a=b=c", "**",   "*=",   "=*",      "1=ann",
					   "ann=1", "@a=b", "a=@b", "a b=c",   "a=b:c",
					   "a\n=b", "-a=b", "a=-b", "ann=root" };
	char *const items[] = { (char *)"ann=asmith", (char *)"ann=other", (char *)"*",
				(char *)"bob=b" };
	char lengthy[SITE_WHO_MAX + 4];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(site_map_is_good(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(site_map_is_good(bad[i]));
	memset(lengthy, 'a', sizeof(lengthy));
	strcpy(lengthy + SITE_WHO_MAX, "=b");
	assert_true(site_map_is_good(lengthy));
	memset(lengthy, 'a', SITE_WHO_MAX + 1);
	strcpy(lengthy + SITE_WHO_MAX + 1, "=b");
	assert_false(site_map_is_good(lengthy));

	assert_string_equal(site_map(items, 4, "ann"), "asmith");
	assert_string_equal(site_map(items, 4, "bob"), "b");
	assert_string_equal(site_map(items, 4, "eve"), "eve");
	assert_string_equal(site_map(items, 4, "an"), "an");
	assert_null(site_map(items, 4, ""));
	assert_null(site_map(items, 2, "an"));
	assert_null(site_map(items, 2, "anna"));
	assert_null(site_map(items, 2, "asmith"));
	assert_null(site_map(NULL, 0, "ann"));
}

/* ---- users ---- */

static int asked;

/* The user is in staff and 50; the group gone is not known, the others exist without the user. */
static int in_group(void *ctx, const char *group)
{
	assert_ptr_equal(ctx, &asked);
	asked++;
	if (!strcmp(group, "gone"))
		return -ENOENT;
	return !strcmp(group, "staff") || !strcmp(group, "50");
}

static enum site_answer who(char *const *allow, char *const *deny, const char **item)
{
	struct site_who rule = { .allow = allow, .deny = deny };

	for (; allow && allow[rule.nallow];)
		rule.nallow++;
	for (; deny && deny[rule.ndeny];)
		rule.ndeny++;
	asked = 0;
	return site_who(&rule, "ann", 1001, in_group, &asked, item);
}

#define ITEMS(...) ((char *[]){ __VA_ARGS__, NULL })

static void test_who(void **state)
{
	const char *item;

	assert_int_equal(who(NULL, NULL, &item), SITE_MAY);
	assert_null(item);
	assert_int_equal(who(ITEMS("ann"), NULL, &item), SITE_MAY);
	assert_string_equal(item, "ann");
	assert_int_equal(who(ITEMS("bob", "anna", "an", "100", "10010"), NULL, &item),
			 SITE_NOT_ALLOWED);
	assert_null(item);
	assert_int_equal(who(ITEMS("1001"), NULL, NULL), SITE_MAY);
	assert_int_equal(who(NULL, ITEMS("bob", "1002"), &item), SITE_MAY);
	assert_int_equal(who(NULL, ITEMS("bob", "1001"), &item), SITE_DENIED);
	assert_string_equal(item, "1001");
	assert_int_equal(asked, 0);
}

static void test_deny_wins(void **state)
{
	const char *item;

	assert_int_equal(who(ITEMS("ann"), ITEMS("ann"), NULL), SITE_DENIED);
	assert_int_equal(who(ITEMS("ann"), ITEMS("@staff"), &item), SITE_DENIED);
	assert_string_equal(item, "@staff");
	assert_int_equal(who(ITEMS("@staff"), ITEMS("ann"), NULL), SITE_DENIED);
	assert_int_equal(who(ITEMS("@staff"), ITEMS("@wheel"), NULL), SITE_MAY);
	assert_int_equal(who(ITEMS("bob"), ITEMS("@wheel"), NULL), SITE_NOT_ALLOWED);
}

/* A user whose name is not known may have any. */
static void test_no_name(void **state)
{
	const struct site_who denies = { .deny = ITEMS("bob", "1002"), .ndeny = 2 };
	const struct site_who numbers = { .deny = ITEMS("1002"), .ndeny = 1 };
	const struct site_who allows = { .allow = ITEMS("bob"), .nallow = 1 };
	const char *item;

	assert_int_equal(site_who(&denies, "", 1001, in_group, &asked, &item), SITE_UNSURE);
	assert_string_equal(item, "bob");
	assert_int_equal(site_who(&denies, "", 1002, in_group, &asked, NULL), SITE_DENIED);
	assert_int_equal(site_who(&numbers, "", 1001, in_group, &asked, NULL), SITE_MAY);
	assert_int_equal(site_who(&allows, "", 1001, in_group, &asked, NULL), SITE_NOT_ALLOWED);
}

static void test_groups(void **state)
{
	const char *item;

	assert_int_equal(who(ITEMS("@wheel", "@staff"), NULL, &item), SITE_MAY);
	assert_string_equal(item, "@staff");
	assert_int_equal(asked, 2);
	assert_int_equal(who(ITEMS("@50"), NULL, NULL), SITE_MAY);
	assert_int_equal(who(ITEMS("staff"), NULL, NULL), SITE_NOT_ALLOWED);
	assert_int_equal(who(ITEMS("@ann"), NULL, NULL), SITE_NOT_ALLOWED);
	/* What is not known gives nothing, and refuses. */
	assert_int_equal(who(ITEMS("@gone"), NULL, NULL), SITE_NOT_ALLOWED);
	assert_int_equal(who(ITEMS("@gone", "ann"), NULL, NULL), SITE_MAY);
	assert_int_equal(who(NULL, ITEMS("@gone"), &item), SITE_UNSURE);
	assert_string_equal(item, "@gone");
	assert_int_equal(who(ITEMS("ann"), ITEMS("@gone", "@wheel"), NULL), SITE_UNSURE);
	assert_int_equal(who(NULL, ITEMS("@gone", "ann"), &item), SITE_DENIED);
	assert_string_equal(item, "ann");
}

static void test_who_items(void **state)
{
	static const char *const good[] = { "ann",	"@staff", "1001",     "@50",
					    "a.b-c_d$", "0",	  "DOM\\ann", "4294967294" };
	static const char *const bad[] = {
		"",	      "@",    "@@x", "-x",  "@-x",  "a b",	  "a:b",
		"a/b",	      "/opt", "+x",  "a\n", "\177", "4294967295", "99999999999999999999999",
		"@4294967295"
	};
	char text[SITE_WHO_MAX + 3];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!site_who_is_good(good[i]))
			fail_msg("\"%s\" is refused", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (site_who_is_good(bad[i]))
			fail_msg("\"%s\" is taken", bad[i]);
	memset(text, 'a', sizeof(text));
	text[0] = '@';
	text[SITE_WHO_MAX + 1] = '\0';
	assert_true(site_who_is_good(text));
	assert_false((text[SITE_WHO_MAX + 1] = 'a', text[SITE_WHO_MAX + 2] = '\0',
		      site_who_is_good(text)));
}

/* ---- programs ---- */

static enum site_answer what(char *const *allow, char *const *deny, const char *given,
			     const char *real)
{
	struct site_what rule = { .allow = allow, .deny = deny };

	for (; allow && allow[rule.nallow];)
		rule.nallow++;
	for (; deny && deny[rule.ndeny];)
		rule.ndeny++;
	return site_what(&rule, given, real, NULL);
}

static void test_below(void **state)
{
	assert_true(site_path_is_below("/opt", "/opt/x"));
	assert_true(site_path_is_below("/opt/", "/opt/x"));
	assert_true(site_path_is_below("/opt/x", "/opt/x"));
	assert_true(site_path_is_below("/opt", "/opt"));
	assert_true(site_path_is_below("/", "/opt/x"));
	assert_false(site_path_is_below("/opt", "/optical/x"));
	assert_false(site_path_is_below("/opt/", "/optical"));
	assert_false(site_path_is_below("/opt/x", "/opt"));
	assert_false(site_path_is_below("/opt", "opt/x"));
	assert_false(site_path_is_below("/", "x"));
	assert_false(site_path_is_below("/", ""));
}

static void test_what(void **state)
{
	char **cc = ITEMS("/usr/bin/cc"), **opt = ITEMS("/opt", "/srv/");

	assert_int_equal(what(NULL, NULL, "/bin/x", "/usr/bin/x"), SITE_MAY);
	assert_int_equal(what(opt, NULL, "/opt/x", "/opt/x"), SITE_MAY);
	assert_int_equal(what(opt, NULL, "/bin/x", "/bin/x"), SITE_NOT_ALLOWED);
	assert_int_equal(what(NULL, opt, "/srv/a/x", "/srv/a/x"), SITE_DENIED);
	assert_int_equal(what(NULL, opt, "/bin/x", "/bin/x"), SITE_MAY);
	assert_int_equal(what(opt, opt, "/opt/x", "/opt/x"), SITE_DENIED);
	assert_int_equal(what(ITEMS("/"), cc, "/usr/bin/cc", "/usr/bin/gcc"), SITE_DENIED);
	/* Links: the name of one counts, and so does what it leads to. */
	assert_int_equal(what(cc, NULL, "/usr/bin/cc", "/usr/bin/gcc-12"), SITE_MAY);
	assert_int_equal(what(NULL, opt, "/home/ann/x", "/opt/x"), SITE_DENIED);
	assert_int_equal(what(opt, NULL, "/home/ann/x", "/opt/x"), SITE_MAY);
	assert_int_equal(what(NULL, opt, "/home/../opt/x", "/opt/x"), SITE_DENIED);
	/* What only looks as if it were there does not. */
	assert_int_equal(what(opt, NULL, "/opt/../home/ann/x", "/home/ann/x"), SITE_NOT_ALLOWED);
	assert_int_equal(what(opt, NULL, "/opt/./../home/x", "/home/x"), SITE_NOT_ALLOWED);
	assert_int_equal(what(opt, NULL, "/opt//x", "/opt/x"), SITE_MAY);
	/* Without what it really is: nothing is allowed, and what is seen is denied. */
	assert_int_equal(what(NULL, opt, "/opt/x", NULL), SITE_DENIED);
	assert_int_equal(what(opt, NULL, "/bin/x", NULL), SITE_MAY);
	assert_int_equal(what(opt, NULL, "/bin/x", ""), SITE_NOT_ALLOWED);
}

static void test_what_items(void **state)
{
	static const char *const good[] = { "/", "/opt", "/opt/", "/usr/bin/g++", "/a/..b/.c/d." };
	static const char *const bad[] = { "",	       "opt",	 "./x",	    "//",
					   "/opt//x",  "/opt//", "/opt/..", "/../x",
					   "/opt/./x", "/.",	 "/a\nb",   "@x" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!site_path_is_good(good[i]))
			fail_msg("\"%s\" is refused", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (site_path_is_good(bad[i]))
			fail_msg("\"%s\" is taken", bad[i]);
}

/* ---- nodes ---- */

static enum site_answer node(char *const *allow, char *const *deny)
{
	struct site_node rule = { .allow = allow, .deny = deny };

	for (; allow && allow[rule.nallow];)
		rule.nallow++;
	for (; deny && deny[rule.ndeny];)
		rule.ndeny++;
	return site_node(&rule, "n1.lab");
}

static void test_node(void **state)
{
	assert_int_equal(node(NULL, NULL), SITE_MAY);
	assert_int_equal(node(ITEMS("n0", "N1.Lab"), NULL), SITE_MAY);
	assert_int_equal(node(ITEMS("n1", "n1.lab.x"), NULL), SITE_NOT_ALLOWED);
	assert_int_equal(node(NULL, ITEMS("n1")), SITE_MAY);
	assert_int_equal(node(NULL, ITEMS("n1.lab")), SITE_DENIED);
	assert_int_equal(node(ITEMS("n1.lab"), ITEMS("n1.lab")), SITE_DENIED);
}

/* ---- labels ---- */

static struct site_labels labels(char *const *from)
{
	struct site_labels out = { 0 };

	for (; *from; from++)
		assert_true(site_labels_add(&out, *from));
	return out;
}

static void test_labels(void **state)
{
	static const char *const bad[] = {
		"", "a b", "a:b", "a/b", "\303\244", "a\n", "123456789012345678901234567890123"
	};
	struct site_labels l = { 0 };
	char name[8];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(site_labels_add(&l, bad[i]));
	assert_true(site_labels_add(&l, "12345678901234567890123456789012"));
	for (int i = 1; i < SITE_LABELS_MAX; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		assert_true(site_labels_add(&l, name));
	}
	assert_true(site_labels_add(&l, "l1"));
	assert_false(site_labels_add(&l, "more"));
	assert_int_equal(l.n, SITE_LABELS_MAX);
	assert_true(site_labels_have(&l, "l15"));
	assert_false(site_labels_have(&l, "l"));
}

static void test_label_items(void **state)
{
	static const char *const good[] = { "gpu:/", "a.b-c_D9:/opt/x", "gpu:/opt:x/" };
	static const char *const bad[] = { "gpu",
					   "gpu:",
					   ":/opt",
					   "gpu:opt",
					   "g pu:/opt",
					   "gpu:/..",
					   "123456789012345678901234567890123:/" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(site_label_rule_is_good(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(site_label_rule_is_good(bad[i]));
}

static void test_labels_of(void **state)
{
	char *items[] = { "gpu:/opt/", "gpu:/opt/a", "ssd:/opt/a", "tape:/optical" };
	char *many[SITE_LABELS_MAX + 1], text[SITE_LABELS_MAX + 1][16];
	struct site_labels out;

	assert_true(site_labels_of(items, 4, "/opt/a", "/usr/a", &out));
	assert_int_equal(out.n, 2);
	assert_true(site_labels_have(&out, "gpu") && site_labels_have(&out, "ssd"));
	assert_true(site_labels_of(items, 4, "/home/a", "/optical", &out));
	assert_int_equal(out.n, 1);
	assert_string_equal(out.label[0], "tape");
	assert_true(site_labels_of(items, 4, "/opt/../optical", NULL, &out));
	assert_int_equal(out.n, 1);
	assert_true(site_labels_of(items, 4, "/home/a", NULL, &out));
	assert_int_equal(out.n, 0);
	for (int i = 0; i <= SITE_LABELS_MAX; i++) {
		snprintf(text[i], sizeof(text[i]), "l%d:/", i);
		many[i] = text[i];
	}
	assert_true(site_labels_of(many, SITE_LABELS_MAX, "/x", NULL, &out));
	assert_false(site_labels_of(many, SITE_LABELS_MAX + 1, "/x", NULL, &out));
}

static void test_labels_fit(void **state)
{
	const struct site_labels none = { 0 }, gpu = labels(ITEMS("gpu")),
				 both = labels(ITEMS("gpu", "ssd"));
	const char *label;

	assert_true(site_labels_fit(&none, &none, &none, &label));
	assert_true(site_labels_fit(&both, &gpu, &none, &label));
	assert_true(site_labels_fit(&both, &both, &none, &label));
	assert_false(site_labels_fit(&gpu, &both, &none, &label));
	assert_string_equal(label, "ssd");
	assert_true(site_labels_fit(&none, &none, &both, &label));
	assert_false(site_labels_fit(&gpu, &none, &both, &label));
	assert_string_equal(label, "gpu");
	assert_false(site_labels_fit(&gpu, &gpu, &gpu, &label));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_name),	   cmocka_unit_test(test_map),
		cmocka_unit_test(test_who),	   cmocka_unit_test(test_deny_wins),
		cmocka_unit_test(test_groups),	   cmocka_unit_test(test_who_items),
		cmocka_unit_test(test_below),	   cmocka_unit_test(test_what),
		cmocka_unit_test(test_what_items), cmocka_unit_test(test_node),
		cmocka_unit_test(test_labels),	   cmocka_unit_test(test_label_items),
		cmocka_unit_test(test_labels_of),  cmocka_unit_test(test_labels_fit),
	};

	return cmocka_run_group_tests_name("site", tests, NULL, NULL);
}
