/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file number.h  Numbers of text formats: plain decimals, in any locale. */
#ifndef PLAN_DAG_NUMBER_H
#define PLAN_DAG_NUMBER_H

#include <stddef.h>

/** Reads a decimal from 0 to `most`, with an optional exponent, that begins at `text` and ends
 *  before `end`. Returns a pointer past its last character; NULL: there is none, or it is out of
 *  range. */
const char *dag_number(const char *text, const char *end, double most, double *out);

#endif
