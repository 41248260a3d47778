/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file sheet.h  Lists of JSON as comma-separated values (RFC 4180). */
#ifndef EHCTL_SHEET_H
#define EHCTL_SHEET_H

#include <jansson.h>

/** Prints a line of these names, and one of these members for each object. An exit code. */
int sheet_print(const json_t *list, const char *const *columns, size_t count);

#endif
