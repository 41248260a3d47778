/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file parse.h  Values of options, and of files that users write. */
#ifndef TOOLS_PARSE_H
#define TOOLS_PARSE_H

#include <stddef.h>
#include <stdint.h>

/** Index of `text` in a NULL-terminated list, or -1. */
int parse_word(const char *const *words, const char *text);
/** A whole number from 0 to max. 0 or -EINVAL. */
int parse_count(const char *text, uint64_t max, uint64_t *out);
/** A decimal number from 0 to max, also with an exponent. 0 or -EINVAL. */
int parse_real(const char *text, double max, double *out);
/** Bytes of the byte order mark with which some editors begin a text; 0: it has none. */
size_t parse_mark(const char *text);

#endif
