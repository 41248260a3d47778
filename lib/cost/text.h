/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file text.h
 * A table as text, to be kept in a file. Programs and hosts are hashes there, so it does not say what
 * anybody runs. Its last line has a checksum of the others.
 */
#ifndef COST_TEXT_H
#define COST_TEXT_H

#include <stddef.h>

#define COST_TEXT_MAX (4u << 20) /**< bytes of the longest */
#define COST_WHY 96

struct cost_table;

/** Allocated; NULL: out of memory. */
char *cost_write(const struct cost_table *table);
/** NULL: not one byte of it is used; why[] says what is wrong, with the line. */
struct cost_table *cost_read(const char *text, char why[COST_WHY]);

#endif
