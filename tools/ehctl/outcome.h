/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file outcome.h  What became of a session, as the history has it. */
#ifndef EHCTL_OUTCOME_H
#define EHCTL_OUTCOME_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/** What was seen of it beside the history; less than 0: not known. */
struct outcome_seen {
	double elapsed; /**< seconds that its command took */
	double cpu; /**< CPU time of its processes, as far as this is known */
	bool both; /**< this has what was used elsewhere, too */
};

/**
 * Asks for the tasks of a session, NAME.PID.NUMBER, that were started since then (ms since 1970).
 * The document of `ehctl why --session --json`, which the caller owns; NULL after a message, with *code
 * set.
 */
json_t *outcome_ask(const char *session, json_int_t since, const struct outcome_seen *seen,
		    int *code);
/** The same of the last session of this NAME. */
json_t *outcome_ask_last(const char *name, int *code);

/**
 * Prints it to `out` after the words `what`; lines below the first one are indented by as many columns as
 * `indent` has.
 */
void outcome_print(FILE *out, const char *what, const char *indent, const json_t *outcome);

#endif
