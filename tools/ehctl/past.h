/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file past.h  Tasks of the history, as the agent tells them a page at a time. */
#ifndef EHCTL_PAST_H
#define EHCTL_PAST_H

#include <jansson.h>

/**
 * Asks for the tasks that match `ask`, the members of the command `history` (docs/protocol.md; taken
 * over), `most` of them (0: all). The document of `ehctl history --json`, which the caller owns: `tasks`,
 * the newest last, `more` if older ones were left out, and with `all` the nodes that are missing, which
 * is said, too. With `events` in `ask` it is these instead. NULL after a message, with *code set.
 */
json_t *past_ask(json_t *ask, size_t most, int *code);

/** Asks for groups of them, by a word of the protocol; a `key` that is a user is a name. The same. */
json_t *past_groups(json_t *ask, const char *by, int *code);

#endif
