/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file query.h  Questions to the database: which tasks, newest first, a page at a time. */
#ifndef EHHIST_QUERY_H
#define EHHIST_QUERY_H

#include <jansson.h>

struct store;

#define QUERY_PAGE 200 /**< rows of one answer */
#define QUERY_GROUPS 1000

/**
 * Answers a question: an object with some of
 *   since, until  ms since 1970: started then or later; before this
 *   uid, reason, session, executor, program  (the last: its path, or its name)
 *   failed  true: only those that did not end with status 0, or never ran
 *   id      one task: its id, or with fewer figures (docs/protocol.md); with `text` and `steps`
 *   uids    of one of these users
 *   by_time ordered by the start; else by the time when it was heard of
 *   before  the `row` of the last task of the page before
 *   limit   rows at most
 *   by      groups instead of tasks: user, session, program, node, reason, text (what `why` says; only of
 *           tasks that stayed) or hour, those with the most CPU time first, hours with the last first
 *   width, offset  of an "hour", ms; with such a difference to UTC
 *   events  true: events instead of tasks, with since, until, executor (a node that it has to do with),
 *           before, limit, by_time
 * Returns {"tasks":[…],"more":true|false,"dropped":N}, the same with "groups" or "events", or {"error":"…"}. The
 * caller owns it; NULL: no memory.
 */
json_t *query_answer(struct store *s, const json_t *ask);

#endif
