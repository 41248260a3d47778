/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file fallback.h  What becomes of a program that is not executed elsewhere. */
#ifndef EHSTUB_FALLBACK_H
#define EHSTUB_FALLBACK_H

#include <stdint.h>

struct stub;

#define FALLBACK_BY_SHELL '!' /**< behind the code of a node: sh runs the program as a script */

/** A line of clean text to descriptor 2, for at most a second. */
void fallback_say(const char *const *parts, int n);
/** How a message begins: with the command that the user has typed, if it names a node. */
const char *fallback_caller(const struct stub *s);
/** The status when nothing was run, for a reason that is none of the program. */
int fallback_status(const struct stub *s);
/** What execvp() and shells do with a script without a #! line: sh and the path replace argv[0]. */
void fallback_by_shell(struct stub *s);
void fallback_run_here(struct stub *s) __attribute__((noreturn));
/** A failure before GO, which is none of the program. */
void fallback_give_up(struct stub *s, const char *what, int error) __attribute__((noreturn));
/** The agent or the executor refuses; `reason` 0: the node is this one; `error`: errno of the execve()
 *  there, or 0. */
void fallback_refused(struct stub *s, uint32_t reason, int error, const char *text)
	__attribute__((noreturn));

#endif
