/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file writer.h  Output: tables for people, one document for programs. */
#ifndef TOOLS_WRITER_H
#define TOOLS_WRITER_H

#include <jansson.h>

/** Rows of equal length; a column is as wide as its widest cell. NULL ends a row. Without memory the
 *  program exits after a message. */
struct table;
struct table *table_new(const char *heading, ...) __attribute__((sentinel));
void table_row(struct table *t, const char *cell, ...) __attribute__((sentinel));
/** Prints the table and frees it. */
void table_print(struct table *t);

/** Prints the document of --json. EXIT_DONE, or EXIT_REFUSED after a message (write error). */
int json_print(const json_t *document);

/* A member of an object as text, "-" if there is none. The result is valid until 16 calls later. */

const char *text_of(const json_t *object, const char *key);
const char *decimal_of(const json_t *object, const char *key); /**< with two places */
const char *integer_of(const json_t *object, const char *key);

#endif
