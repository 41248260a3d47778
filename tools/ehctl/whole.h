/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file whole.h  Lists of the whole cluster: which nodes are not in them. */
#ifndef EHCTL_WHOLE_H
#define EHCTL_WHOLE_H

#include <jansson.h>
#include <stdbool.h>

/** Says, on standard error, which nodes have not answered, and which tell this one nothing; `more`: and
 *  whether there is more than was listed. */
void whole_print_missing(const json_t *reply, bool more);

#endif
