/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file writer.h  Output: one document for programs, and members of one as text. */
#ifndef TOOLS_WRITER_H
#define TOOLS_WRITER_H

#include <jansson.h>

/** Prints the document of --json. EXIT_DONE, or EXIT_REFUSED after a message (write error). */
int json_print(const json_t *document);
/** The same, and frees it; NULL: there was no memory for it. */
int json_print_new(json_t *document);

/* A member of an object as text, "-" if there is none. The result is valid until 16 calls later. */

const char *text_of(const json_t *object, const char *key);
const char *id_of(const json_t *task); /**< the short one, if it has one */
const char *decimal_of(const json_t *object, const char *key); /**< with two places */
const char *integer_of(const json_t *object, const char *key);
const char *duration_of(const json_t *object, const char *key); /**< seconds, as 4:05 or 1:04:05 */
const char *size_of(const json_t *object, const char *key); /**< bytes, as 512K or 1.5G */

/** Seconds as duration_of() has them; "-": they are negative, or too many. As long valid. */
const char *duration_text(double seconds);

#endif
