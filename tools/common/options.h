/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file options.h
 * Long options of a program as a table: reading, limits, messages and help come from the same rows.
 */
#ifndef TOOLS_OPTIONS_H
#define TOOLS_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What an option's text becomes; `at` is where, in the struct that is given to options_parse(). */
enum option_kind {
	OPTION_FLAG, /**< takes no text: a bool becomes true */
	OPTION_TEXT, /**< const char *: the text itself; one of the words if `value` is "first|second|…" */
	OPTION_WORD, /**< unsigned int: the index of the text in `value`, "first|second|…" */
	OPTION_SWITCH, /**< bool: whether the text is the second of the two words of `value` */
	OPTION_COUNT, /**< uint64_t within `count` */
	OPTION_REAL, /**< double within `real` */
	OPTION_OWN, /**< whatever `take` makes of it */
};

struct option_row {
	const char *name;
	enum option_kind kind;
	size_t at; /**< offset of the member */
	const char *value; /**< as the help shows it: a name, or the words; NULL: a flag */
	union {
		struct {
			uint64_t least, most;
		} count;
		struct {
			double least, most;
		} real;
		/** Gets the whole struct. Not 0: the text is refused. */
		int (*take)(void *arguments, const char *text);
	};
	const char *wanted; /**< said when the text is refused; NULL: "no such number" */
	const char *help; /**< one or more lines */
};

/** A table (ended by a row without a name), and the struct that its rows are of. */
struct option_set {
	const struct option_row *table;
	void *arguments;
};

/** Reads argv by the tables of two sets at most. 0, or an exit code after a message. optind is the first
 *  argument that is not an option. */
int options_parse_sets(int argc, char **argv, const struct option_set *sets, size_t count);
/** The same with one set. */
int options_parse(int argc, char **argv, const struct option_row *table, void *arguments);

/** Prints the rows of the table for --help. */
void options_help(const struct option_row *table);

#endif
