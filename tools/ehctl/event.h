/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file event.h  Events of `ehctl watch`: which are wanted, and a line of text for each. */
#ifndef EHCTL_EVENT_H
#define EHCTL_EVENT_H

#include <jansson.h>
#include <stdbool.h>

/** NULL: any. */
struct event_filter {
	const char *event; /**< its name */
	const char *node; /**< a host or a code that it has to do with */
	const char *program; /**< of a task */
	const char *user; /**< of a task: a name or a number */
};

/** Names of all events, with spaces between; NULL if this is one of them. */
const char *event_unknown(const char *name);

bool event_is_wanted(const struct event_filter *filter, const json_t *event);

/** What it says, in words, without these members (up to NULL); NULL: out of memory. The caller frees it. */
char *event_what(const json_t *event, const char *const *apart);

/** Prints time, event and the rest; with `all` also the node that tells it (`self`). */
void event_print(const json_t *event, bool all);

#endif
