/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file ask.h  Questions to ehctl: so rights, messages and names are the same here as there. */
#ifndef EHTOP_ASK_H
#define EHTOP_ASK_H

#include <jansson.h>

/** One that is under way. */
struct ask;

/** Starts `ehctl WORD…`; NULL ends the words. NULL: out of memory. */
struct ask *ask_begin(const char *const *words);
/** Readable when ask_read() is due; -1: it has printed all. */
int ask_fd(const struct ask *a);
/** Takes what it prints now. */
void ask_read(struct ask *a);
/**
 * The exit code, or -1 when it could not be run. What still runs is ended. *said is what it has printed,
 * or a message; never NULL, and to be freed.
 */
int ask_end(struct ask *a, char **said);
/** The same of one with --json. NULL: *said is why. */
json_t *ask_json(struct ask *a, char **said);
/** All of that at once. */
int ask(const char *const *words, char **said);

#endif
