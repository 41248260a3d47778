// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The documents list the options of the table, with its defaults, and no others. The test runs at
 * the top of the tree.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/config_kind.h"
#include "base/config_option.h"

#define DOCUMENT "docs/configuration.md"
#define MANUAL "tools/man/ehagent.conf.5"
#define TEXT_MAX 65536

static const struct {
	const char *escape, *plain;
} escapes[] = { { "\\(dq", "\"" }, { "\\-", "-" } };

static void replace(char *text, const char *what, const char *with)
{
	while ((text = strstr(text, what))) {
		memmove(text + strlen(with), text + strlen(what), strlen(text + strlen(what)) + 1);
		memcpy(text, with, strlen(with));
		text += strlen(with);
	}
}

static char *read_text(const char *name, char text[TEXT_MAX])
{
	FILE *in = fopen(name, "r");
	size_t n;

	if (!in)
		fail_msg("%s: cannot open it", name);
	n = fread(text, 1, TEXT_MAX - 1, in);
	assert_true(feof(in));
	fclose(in);
	text[n] = '\0';
	return text;
}

static void preset_of(const struct config_option *o, char *out, size_t size)
{
	const char *quote = o->kind->type == CFGT_STR ? "\"" : "";

	snprintf(out, size, "%s%s%s", quote, o->preset, quote);
}

/* "name = value  # comment": 3 if it has all, 2 without comment, 0 if it is no setting */
static int split(char *line, char **name, char **value, char **comment)
{
	char *equals = strstr(line, "= "), *hash = strstr(line, " # ");

	if (!equals || equals == line)
		return 0;
	*name = line;
	line[strcspn(line, " ")] = '\0';
	*value = equals + 2;
	if (!hash)
		return 2;
	*comment = hash + 3;
	while (hash > *value && *hash == ' ')
		*hash-- = '\0';
	return 3;
}

static void test_document(void **state)
{
	bool seen[CONFIG_OPTIONS] = { false };
	char text[TEXT_MAX], expected[256], *rest, *line, *end;

	rest = strstr(read_text(DOCUMENT, text), "\n```\n");
	assert_non_null(rest);
	rest += strlen("\n```\n");
	end = strstr(rest, "\n```\n");
	assert_non_null(end);
	*end = '\0';
	while ((line = strsep(&rest, "\n"))) {
		const struct config_option *o;
		char *name, *value, *comment;
		int parts;

		if (!strncmp(line, "peer ", 5) || !*line)
			continue;
		parts = split(line, &name, &value, &comment);
		if (parts != 3)
			fail_msg("%s: %s: not \"name = value # help\"", DOCUMENT, line);
		o = config_option_find(config_options, name);
		if (!o)
			fail_msg("%s: %s: the agent has no such option", DOCUMENT, name);
		if (seen[o - config_options])
			fail_msg("%s: %s: listed twice", DOCUMENT, name);
		seen[o - config_options] = true;
		assert_string_equal(comment, o->help);
		if (o->preset) {
			preset_of(o, expected, sizeof(expected));
			assert_string_equal(value, expected);
		}
	}
	for (size_t i = 0; i < CONFIG_OPTIONS; i++)
		if (!seen[i])
			fail_msg("%s: %s is not listed", DOCUMENT, config_options[i].name);
}

static void test_manual(void **state)
{
	bool seen[CONFIG_OPTIONS] = { false };
	char text[TEXT_MAX], expected[256], *rest = text, *line;

	read_text(MANUAL, text);
	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++)
		replace(text, escapes[i].escape, escapes[i].plain);
	while ((line = strsep(&rest, "\n"))) {
		const struct config_option *o;
		char *name, *value, *comment;

		if (strncmp(line, ".B ", 3) || !strncmp(line, ".B peer ", 8) ||
		    split(line + 3, &name, &value, &comment) != 2)
			continue;
		o = config_option_find(config_options, name);
		if (!o)
			fail_msg("%s: %s: the agent has no such option", MANUAL, name);
		if (seen[o - config_options])
			fail_msg("%s: %s: listed twice", MANUAL, name);
		seen[o - config_options] = true;
		if (o->preset) {
			preset_of(o, expected, sizeof(expected));
			assert_string_equal(value, expected);
		}
	}
	for (size_t i = 0; i < CONFIG_OPTIONS; i++)
		if (!seen[i])
			fail_msg("%s: %s is not listed", MANUAL, config_options[i].name);
}

/* What the manual says of a setting has its limits, or its words. */
static void test_values(void **state)
{
	char text[TEXT_MAX], wanted[96], *from, *end;

	for (const struct config_option *o = config_options; o->name; o++) {
		read_text(MANUAL, text);
		for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++)
			replace(text, escapes[i].escape, escapes[i].plain);
		snprintf(wanted, sizeof(wanted), "\n.B %s = ", o->name);
		from = strstr(text, wanted);
		if (!from)
			fail_msg("%s: %s is not there as a setting", MANUAL, o->name);
		end = strstr(from, "\n.TP");
		if (end)
			*end = '\0';
		snprintf(wanted, sizeof(wanted), "\nFrom %.15g to %.15g.", o->min, o->max);
		if (o->unit && !strstr(from, wanted))
			fail_msg("%s: %s lacks its limits: %s", MANUAL, o->name, wanted + 1);
		for (int i = 0; o->words && o->words[i]; i++)
			if (!strstr(from, o->words[i]))
				fail_msg("%s: %s lacks the word %s", MANUAL, o->name, o->words[i]);
	}
}

static void test_peer(void **state)
{
	char text[TEXT_MAX], wanted[64];

	for (const struct config_option *o = config_peer_options; o->name; o++) {
		snprintf(wanted, sizeof(wanted), " %s = ", o->name);
		assert_non_null(strstr(strstr(read_text(DOCUMENT, text), "\npeer "), wanted));
		assert_non_null(strstr(strstr(read_text(MANUAL, text), "\n.B peer "), wanted));
	}
}

/* The words of a list that ends with what a reload cannot change: without markup and its "and". */
static void check_fixed(const char *name, const char *start)
{
	static const char *const markup[] = { "`", "\"", ".BR", ".PP", ",", " and " };
	char text[TEXT_MAX], wanted[64], *from = text, *end;

	end = strstr(read_text(name, text), "cannot change while the agent runs");
	if (!end)
		fail_msg("%s: no list of what a reload cannot change", name);
	*end = '\0';
	for (char *next = text; (next = strstr(next, start)); next += strlen(start))
		from = next + strlen(start) - 1;
	replace(from, "\n", " ");
	for (size_t i = 0; i < sizeof(markup) / sizeof(markup[0]); i++)
		replace(from, markup[i], " ");
	for (const struct config_option *o = config_options; o->name; o++) {
		snprintf(wanted, sizeof(wanted), " %s ", o->called ?: o->name);
		if (!strstr(from, wanted) == o->fixed)
			fail_msg("%s: %s %s: \"%s\"", name, o->name,
				 o->fixed ? "is not listed as fixed" : "is listed as fixed", from);
	}
}

static void test_fixed(void **state)
{
	check_fixed(DOCUMENT, ". ");
	check_fixed(MANUAL, "\n.PP\n");
}

/* A row that lacks what its kind needs would read past it. */
static void test_rows(void **state)
{
	for (size_t i = 0; i < CONFIG_OPTIONS; i++) {
		const struct config_option *o = &config_options[i];

		if (!o->name)
			fail_msg("CONFIG_OPTIONS is %d, the table has %zu rows", CONFIG_OPTIONS, i);
		assert_ptr_equal(config_option_find(config_options, o->name), o);
		assert_true(o->kind && o->offset && o->help);
		assert_true(!o->fixed || o->kind->is_same);
		assert_true(!o->kind->is_list == !o->count);
		assert_true((o->kind == &config_kind_word) == !!o->words);
		assert_true((o->kind == &config_kind_number || o->kind == &config_kind_tasks) ==
			    !!o->unit);
		assert_true(!o->unit || o->min < o->max);
		/* no default: then it is required, a list, or optional in a way of its kind */
		assert_true(!o->preset || !o->required);
		if (!o->preset && !o->required && !o->kind->is_list)
			assert_true(o->kind == &config_kind_tasks || o->kind == &config_kind_code ||
				    o->kind == &config_kind_topology ||
				    o->kind == &config_kind_address);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_document), cmocka_unit_test(test_manual),
		cmocka_unit_test(test_values),	 cmocka_unit_test(test_peer),
		cmocka_unit_test(test_fixed),	 cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests_name("config_option", tests, NULL, NULL);
}
