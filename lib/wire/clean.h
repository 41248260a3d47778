/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file clean.h  Text of users that others will read on a terminal. Pure. */
#ifndef WIRE_CLEAN_H
#define WIRE_CLEAN_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Whether the text is UTF-8 (RFC 3629) without what a terminal may take for an order: controls (C0, DEL,
 * C1), separators of lines, and changes of direction.
 */
bool clean_is(const char *text);

/**
 * Copies text into out[size] as clean text: each character that is not, and each byte that is not
 * UTF-8, becomes "?". What does not fit is left out, never half a character. Returns `out`.
 */
char *clean_text(char *out, size_t size, const char *text);

/** The same for lines: their ends stay. */
char *clean_lines(char *out, size_t size, const char *text);

/**
 * The same for the words of a command, with a space between them; a word with a space, or without
 * letters, is in single quotes. The first word is the program's and left out.
 */
char *clean_words(char *out, size_t size, const char *const *words);

/** Columns of a terminal that the first `length` bytes of UTF-8 take, if each character takes one. */
size_t clean_columns(const char *text, size_t length);

#endif
