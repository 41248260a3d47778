/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file past.h  Tasks of the history, as the agent tells them a page at a time. */
#ifndef EHCTL_PAST_H
#define EHCTL_PAST_H

#include <jansson.h>
#include <stdbool.h>

/**
 * Asks for the tasks that match `ask`, the members of the command `history` (docs/protocol.md; taken
 * over), `most` of them (0: all), the newest last. An array, which the caller owns, with *more if older
 * ones were left out; NULL after a message, with *code set.
 */
json_t *past_ask(json_t *ask, size_t most, bool *more, int *code);

#endif
