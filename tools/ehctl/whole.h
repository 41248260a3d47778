/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file whole.h  Lists of the whole cluster: which nodes are not in them. */
#ifndef EHCTL_WHOLE_H
#define EHCTL_WHOLE_H

#include <jansson.h>

/** Says, on standard error, which nodes have not answered, and which tell this one nothing. */
void whole_print_missing(const json_t *reply);

#endif
