/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file holders.h
 * Which processes may have tokens of a build, and how many: those that have a pipe of it open. A make has one
 * for each job but its first; a process that is not known may have one for each child and thread. The number
 * is an upper bound, so that no token is taken for lost that somebody has.
 */
#ifndef EHCTL_HOLDERS_H
#define EHCTL_HOLDERS_H

#include <sys/types.h>

#include "tokens.h"

/** As eh_tokens_look() wants it, of `taken` tokens, which the relay does not count among. EH_TOKENS_UNKNOWN: it cannot be said, because a stub has
 *  the pipe for a task that is away, a make waits with tokens, or a process may not be looked at. */
unsigned int holders_most(const struct tokens *t, pid_t command, pid_t relay, unsigned int taken);

#endif
