/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file fit.h  Text that takes a number of columns on a terminal. */
#ifndef EHTOP_FIT_H
#define EHTOP_FIT_H

#include <stddef.h>

enum fit { FIT_LEFT, FIT_RIGHT };

/**
 * Appends text to `out` so that it takes `columns` on a terminal: padded, or cut with an ellipsis.
 * What a terminal could take for a command, or cannot show, becomes "?". Returns the new length;
 * there is never more than `size` with the final 0.
 */
size_t fit_add(char *out, size_t length, size_t size, const char *text, unsigned int columns,
	       enum fit side);
/** How many columns it takes; each character that cannot be shown takes one. */
unsigned int fit_width(const char *text);
/** Bytes of its first line that are on one of so many columns, up to a space if there is one. */
size_t fit_line(const char *text, unsigned int columns);
/** A bar of `columns` for part/whole, in eighths of a column where the locale has UTF-8. */
size_t fit_bar(char *out, size_t length, size_t size, double part, double whole,
	       unsigned int columns);

#endif
