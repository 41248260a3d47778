/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file clean.h  Text of users that others will read on a terminal. Pure. */
#ifndef HISTORY_CLEAN_H
#define HISTORY_CLEAN_H

#include <stddef.h>

/**
 * Copies text into out[size] as UTF-8 without control characters: each of them, and each byte that is
 * not UTF-8, becomes "?". What does not fit is left out, never half a character. Returns `out`.
 */
char *clean_text(char *out, size_t size, const char *text);

/**
 * The same for the words of a command, with a space between them; a word with a space, or without
 * letters, is in single quotes. The first word is the program's and left out.
 */
char *clean_words(char *out, size_t size, const char *const *words);

#endif
