/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file tokens.h  The tokens of make's jobserver, among what the task has open. */
#ifndef EHSTUB_TOKENS_H
#define EHSTUB_TOKENS_H

#include <stdbool.h>

#include "opens.h"

/** Finds them. False: there is no memory. */
bool tokens_look(struct opens *o);

#endif
