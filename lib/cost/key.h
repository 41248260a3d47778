/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file key.h
 * Which runs are runs of the same thing. A program is known by its path as exec was given it. What an
 * interpreter (sh, python3.11, perl) or a program with subcommands (git, make) does is said by its
 * first word that is neither an option nor an assignment; so that belongs to the name, with the words
 * before it. One that starts what its arguments say (env, nice, timeout) is known by all of them, and
 * so is sleep. Arguments of other programs are not looked at: most are names of files, which never
 * come again.
 */
#ifndef COST_KEY_H
#define COST_KEY_H

#include <stdint.h>

/**
 * argv begins with the name; NULL: it is not known. 0: this cannot be told, as of an interpreter
 * whose arguments are not known.
 */
uint64_t cost_key(const char *path, const char *const *argv);
/** A host's; never 0. */
uint64_t cost_host_name(const char *host);

#endif
