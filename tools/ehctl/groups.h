/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file groups.h  `ehctl history --by`: tasks of the history, added up. */
#ifndef EHCTL_GROUPS_H
#define EHCTL_GROUPS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/** What tasks can be grouped by, as `--by` has it. */
#define GROUPS_BY "user|session|program|node|reason|hour"

/** Milliseconds that local time is ahead of UTC now. */
json_int_t groups_offset(void);
/**
 * Asks for the groups of what matches `ask` (as past_ask(); taken over): the document of --json with at most
 * `most` of them (0: all), those with the most CPU time, the hours in their order. NULL after a message,
 * with *code set.
 */
json_t *groups_ask(json_t *ask, const char *by, uint64_t most, int *code);
void groups_print(const json_t *document, const char *by);
int groups_print_csv(const json_t *document);

#endif
