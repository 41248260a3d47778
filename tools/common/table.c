// SPDX-License-Identifier: GPL-2.0-or-later
#include "table.h"

#include <langinfo.h>
#include <libsmartcols.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "command.h"
#include "wire/clean.h"

#define TABLE_COLUMNS 16
#define TABLE_DEPTH 32
#define TABLE_TEXT 32
#define TABLE_HEADING 4 /* columns of a heading that may be cut, at least */

struct table {
	struct libscols_table *of;
	unsigned int columns, is[TABLE_COLUMNS];
	bool used[TABLE_COLUMNS]; /* a cell is not "-" */
	size_t widest[TABLE_COLUMNS]; /* of its cells */
	unsigned int depth; /* of the next row */
	struct libscols_line *last[TABLE_DEPTH]; /* row of each depth */
};

/* An incomplete table is worse than none. */
static void need(bool done)
{
	if (!done)
		exit(fail(EXIT_REFUSED, "out of memory"));
}

struct table *table_new(const char *heading, ...)
{
	struct table *t = calloc(1, sizeof(*t));
	bool ascii;
	va_list args;

	/* Names may be UTF-8, whatever the locale of this user is. */
	setlocale(LC_CTYPE, "");
	ascii = strcmp(nl_langinfo(CODESET), "UTF-8");
	if (ascii)
		setlocale(LC_CTYPE, "C.UTF-8");
	need(t && (t->of = scols_new_table()));
	scols_table_enable_ascii(t->of, ascii);
	if (!isatty(STDOUT_FILENO)) {
		need(!scols_table_set_column_separator(t->of, "  "));
		scols_table_set_termforce(t->of, SCOLS_TERMFORCE_NEVER);
	}
	va_start(args, heading);
	for (; heading && t->columns < TABLE_COLUMNS; heading = va_arg(args, const char *)) {
		need(scols_table_new_column(t->of, heading, 0, 0));
		t->columns++;
	}
	va_end(args);
	return t;
}

void table_column(struct table *t, unsigned int column, unsigned int is)
{
	t->is[column] = is;
}

void table_depth(struct table *t, unsigned int depth)
{
	t->depth = depth < TABLE_DEPTH ? depth : TABLE_DEPTH - 1;
}

void table_row(struct table *t, const char *cell, ...)
{
	struct libscols_line *line =
		scols_table_new_line(t->of, t->depth ? t->last[t->depth - 1] : NULL);
	va_list args;
	size_t width;

	need(line);
	t->last[t->depth] = line;
	va_start(args, cell);
	for (unsigned int i = 0; i < t->columns; i++) {
		need(!scols_line_set_data(line, i, cell ? cell : ""));
		t->used[i] |= cell && strcmp(cell, "-");
		width = (cell ? clean_columns(cell, strlen(cell)) : 0) +
			(t->is[i] & TABLE_TREE ? 2 * t->depth : 0);
		t->widest[i] = width > t->widest[i] ? width : t->widest[i];
		if (cell)
			cell = va_arg(args, const char *);
	}
	va_end(args);
}

static const char *table_heading(const struct table *t, unsigned int column)
{
	return scols_cell_get_data(scols_column_get_header(scols_table_get_column(t->of, column)));
}

static bool table_is(const struct table *t, unsigned int column, unsigned int what)
{
	return !scols_column_is_hidden(scols_table_get_column(t->of, column)) &&
	       (t->is[column] & what) == what;
}

/* Columns of the terminal that are needed: the library makes no column narrower than its heading. */
static size_t table_least(const struct table *t)
{
	size_t least = 0, heading;

	for (unsigned int i = 0; i < t->columns; i++) {
		if (!table_is(t, i, 0))
			continue;
		heading = strlen(table_heading(t, i));
		least += !!least;
		least += table_is(t, i, TABLE_CUTS) || heading > t->widest[i] ? heading
									      : t->widest[i];
	}
	return least;
}

/* Cuts the longest heading that may be cut. False: there is none. */
static bool table_cut_heading(const struct table *t)
{
	unsigned int longest = t->columns;
	size_t most = TABLE_HEADING;
	char text[TABLE_TEXT];

	for (unsigned int i = 0; i < t->columns; i++)
		if (table_is(t, i, TABLE_CUTS) && strlen(table_heading(t, i)) > most) {
			most = strlen(table_heading(t, i));
			longest = i;
		}
	if (longest == t->columns)
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)most - 1, table_heading(t, longest));
	need(!scols_cell_set_data(scols_column_get_header(scols_table_get_column(t->of, longest)),
				  text));
	return true;
}

/* Marks a text that is wider than its column: the library only cuts it. */
static void table_cut(struct libscols_cell *cell, size_t width, const char *mark)
{
	const char *text = scols_cell_get_data(cell), *at = text, *fits = text;
	size_t is = 0, length;
	mbstate_t state = { 0 };
	char *cut;
	wchar_t c;

	for (; *at; at += length) {
		length = mbrtowc(&c, at, MB_CUR_MAX, &state);
		/* the library shows it in its own way */
		if (length == (size_t)-1 || length == (size_t)-2 || wcwidth(c) < 0)
			return;
		is += wcwidth(c);
		if (is < width)
			fits = at + length;
	}
	if (is <= width)
		return;
	need(asprintf(&cut, "%.*s%s", (int)(fits - text), text, mark) >= 0);
	need(!scols_cell_set_data(cell, cut));
	free(cut);
}

static void table_mark_cuts(struct table *t)
{
	const char *mark = scols_table_is_ascii(t->of) ? "~" : "…";
	struct libscols_line *line;
	struct libscols_iter *iter;
	char *ignored = NULL;

	/* The widths are known then. */
	need(!scols_print_table_to_string(t->of, &ignored));
	free(ignored);
	iter = scols_new_iter(SCOLS_ITER_FORWARD);
	need(iter);
	while (!scols_table_next_line(t->of, iter, &line))
		for (unsigned int i = 0; i < t->columns; i++) {
			struct libscols_column *c = scols_table_get_column(t->of, i);

			if (scols_column_is_trunc(c) && !scols_column_is_hidden(c))
				table_cut(scols_line_get_cell(line, i), scols_column_get_width(c),
					  mark);
		}
	scols_free_iter(iter);
}

void table_print(struct table *t)
{
	const bool rows = scols_table_get_nlines(t->of);

	for (unsigned int i = 0; i < t->columns; i++)
		scols_column_set_flags(
			scols_table_get_column(t->of, i),
			(t->is[i] & TABLE_RIGHT ? SCOLS_FL_RIGHT : 0) |
				(t->is[i] & TABLE_CUTS ? SCOLS_FL_TRUNC : 0) |
				(t->is[i] & TABLE_TREE ? SCOLS_FL_TREE : 0) |
				(t->is[i] & TABLE_SPARE && !t->used[i] ? SCOLS_FL_HIDDEN : 0));
	while (isatty(STDOUT_FILENO) && table_least(t) > scols_table_get_termwidth(t->of) &&
	       table_cut_heading(t))
		;
	if (!rows) {
		/* the library prints no heading alone */
		struct libscols_line *line = scols_table_new_line(t->of, NULL);

		need(line);
		for (unsigned int i = 0; i < t->columns; i++) {
			struct libscols_column *c = scols_table_get_column(t->of, i);

			need(!scols_line_set_data(line, i,
						  scols_cell_get_data(scols_column_get_header(c))));
		}
		scols_table_enable_noheadings(t->of, 1);
	}
	if (isatty(STDOUT_FILENO))
		table_mark_cuts(t);
	need(!scols_print_table(t->of) || ferror(stdout));
	scols_unref_table(t->of);
	free(t);
}
