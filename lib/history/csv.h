/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file csv.h  Fields of comma-separated values as RFC 4180 has them. Pure. */
#ifndef HISTORY_CSV_H
#define HISTORY_CSV_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Writes a field into out[size], quoted if it has a comma, a quote or the end of a line. Returns the
 * bytes that it has, without the NUL, as snprintf() does: more than size - 1 of them are not written.
 */
size_t csv_field(char *out, size_t size, const char *text);

/** Whether a spreadsheet would take this text for a formula and compute it. */
bool csv_is_formula(const char *text);

#endif
