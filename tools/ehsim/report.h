/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file report.h  What ehctl sim prints of its runs. */
#ifndef EHSIM_REPORT_H
#define EHSIM_REPORT_H

#include "sums.h"

/** The document of --json. NULL: no memory. */
json_t *report_json(const struct sums *s);
/** The same for people. */
void report_print(const struct sums *s);

#endif
