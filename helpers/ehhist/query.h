/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file query.h  Questions to the database: which tasks, newest first, a page at a time. */
#ifndef EHHIST_QUERY_H
#define EHHIST_QUERY_H

#include <jansson.h>

struct store;

#define QUERY_PAGE 200 /**< rows of one answer */

/**
 * Answers a question: an object with some of
 *   since, until  ms since 1970: started then or later; before this
 *   uid, reason, session, executor, program  (the last: its path, or its name)
 *   failed  true: only those that did not end with status 0, or never ran
 *   id      one task: its id, or with fewer figures (docs/protocol.md); with `text` and `steps`
 *   before  the `row` of the last task of the page before
 *   limit   rows at most
 * Returns {"tasks":[…],"more":true|false,"dropped":N} or {"error":"…"}. The caller owns it; NULL: no
 * memory.
 */
json_t *query_answer(struct store *s, const json_t *ask);

#endif
