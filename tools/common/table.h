/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file table.h  Tables for people, by libsmartcols. */
#ifndef TOOLS_TABLE_H
#define TOOLS_TABLE_H

#include <stddef.h>

/**
 * Rows of equal length; a column is as wide as its widest cell. On a terminal that is too narrow,
 * columns marked TABLE_CUTS are made narrower, and so are their headings; elsewhere nothing is cut.
 * Without memory the program exits after a message.
 */
struct table;

/** What a column is, besides text that begins at the left. */
enum table_column {
	TABLE_RIGHT = 1, /**< ends at the right, as numbers do */
	TABLE_CUTS = 2, /**< may be cut */
	TABLE_SPARE = 4, /**< not shown if all its cells are "-" */
	TABLE_TREE = 8, /**< has the lines from rows to those below them */
};

/** The heading, cell by cell. NULL ends it. */
struct table *table_new(const char *heading, ...) __attribute__((sentinel));
/** What this column is: a sum of enum table_column. */
void table_column(struct table *t, unsigned int column, unsigned int is);
/**
 * The next row is below the last one of this depth less one; 0: below none. Lines are of ASCII where the user's
 * locale is not UTF-8.
 */
void table_depth(struct table *t, unsigned int depth);
/** NULL ends a row. */
void table_row(struct table *t, const char *cell, ...) __attribute__((sentinel));
/** Prints the table and frees it. */
void table_print(struct table *t);

#endif
