/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file ended.h  When and how tasks of the history ended, in words for a table. */
#ifndef EHCTL_ENDED_H
#define EHCTL_ENDED_H

#include <jansson.h>

#define ENDED_TEXT 32

/** A time of the agent, in seconds since 1970; -1: this is none. */
double ended_seconds(const char *text);
/** Seconds from one such time to another, to the millisecond. */
double ended_between(const char *from, const char *to);
/** Seconds from such a time until now. */
double ended_since(const char *from);
/** Its local time with the date and what is below a second; what is none stays as it is. */
const char *ended_moment(const char *text, char out[ENDED_TEXT]);
/** Its local time: of today without the date. "-": it is none. */
const char *ended_clock(const char *text, char out[ENDED_TEXT]);
/** By `exit`, `signal` and `state`: the exit status, the signal that killed it, or what else became of it. */
const char *ended_how(const json_t *task, char out[ENDED_TEXT]);

#endif
