// SPDX-License-Identifier: GPL-2.0-or-later
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cluster/naming.h"
#include "command.h"
#include "help.h"
#include "parse.h"
#include "wire/clean.h"

#define OPTIONS_MAX 48
#define SETS_MAX 2

static int bad_option(const char *given, const struct option *options)
{
	char wanted[64];
	struct naming_nearest n = { .wanted = wanted };

	snprintf(wanted, sizeof(wanted), "%.*s", (int)strcspn(given + strspn(given, "-"), "="),
		 given + strspn(given, "-"));
	for (; options->name; options++)
		naming_try(&n, options->name);
	if (!n.best)
		return bad_usage("%s: no such option", given);
	return bad_usage("%s: no such option; did you mean --%s?", given, n.best);
}

/* Index of `text` in "first|second|…", or -1. */
static int index_of(const char *words, const char *text)
{
	size_t length = strlen(text);

	for (int i = 0;; i++) {
		size_t word = strcspn(words, "|");

		if (word == length && !strncmp(words, text, length))
			return i;
		if (!words[word])
			return -1;
		words += word + 1;
	}
}

static int take_row(const struct option_row *row, void *arguments, const char *text)
{
	void *at = (char *)arguments + row->at;
	int word;

	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)at = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)at = text;
		return row->value && strchr(row->value, '|') && index_of(row->value, text) < 0;
	case OPTION_WORD:
		word = index_of(row->value, text);
		*(unsigned int *)at = word < 0 ? 0 : word;
		return word < 0;
	case OPTION_SWITCH:
		word = index_of(row->value, text);
		*(bool *)at = word == 1;
		return word < 0;
	case OPTION_COUNT:
		return parse_count(text, row->count.most, at) || *(uint64_t *)at < row->count.least;
	case OPTION_REAL:
		return parse_real(text, row->real.most, at) || *(double *)at < row->real.least;
	case OPTION_OWN:
		return row->take(arguments, text);
	}
	return -EINVAL;
}

/* Values of options count from 1; each set has OPTIONS_MAX of them. */
static int take(const struct option_set *sets, int value, const char *text)
{
	const struct option_set *set = &sets[(value - 1) / OPTIONS_MAX];
	const struct option_row *row = &set->table[(value - 1) % OPTIONS_MAX];

	if (!take_row(row, set->arguments, text))
		return 0;
	return bad_usage("--%s %s: %s", row->name, text,
			 row->wanted ? row->wanted : "no such number");
}

int options_parse_sets(int argc, char **argv, const struct option_set *sets, size_t count)
{
	struct option options[SETS_MAX * OPTIONS_MAX + 1] = { 0 };
	size_t n = 0;
	int option, code;

	for (size_t set = 0; set < count && set < SETS_MAX; set++) {
		const struct option_row *row = sets[set].table;

		for (size_t i = 0; row && row[i].name && i < OPTIONS_MAX; i++)
			options[n++] = (struct option){
				.name = row[i].name,
				.has_arg = row[i].kind == OPTION_FLAG ? no_argument
								      : required_argument,
				.val = (int)(set * OPTIONS_MAX + i) + 1,
			};
	}
	opterr = 0;
	optind = 1;
	while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (option == '?')
			return bad_option(argv[optind - 1], options);
		if (option == ':')
			return bad_usage("%s: a value is needed", argv[optind - 1]);
		code = take(sets, option, optarg);
		if (code)
			return code;
	}
	return 0;
}

int options_parse(int argc, char **argv, const struct option_row *table, void *arguments)
{
	return options_parse_sets(argc, argv, &(struct option_set){ table, arguments }, 1);
}

void options_help(const struct option_row *table)
{
	for (; table->name; table++) {
		const char *value = table->value ?: "";
		int width = (int)strlen(table->name) + (int)clean_columns(value, strlen(value)) +
			    (*value ? 5 : 4);

		printf("  --%s%s%s", table->name, *value ? " " : "", value);

		/* a long option has its help in the next line */
		if (width > HELP_COLUMN - 2) {
			printf("\n");
			width = 0;
		}
		printf("%*s", HELP_COLUMN - width, "");
		help_paragraph(stdout, table->help, HELP_COLUMN);
	}
}
