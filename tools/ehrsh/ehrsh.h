/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file ehrsh.h
 * `ehrsh [OPTION]… HOST [CMD…]`: ssh's command line, for a command that the agents start on another node.
 */
#ifndef EHRSH_H
#define EHRSH_H

#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>

#define EHRSH_FAILED 255 /**< status of ssh when it could not do its part */
#define EHRSH_LIST 64 /**< words of SendEnv and SetEnv, at most */

/** What the options ask for. */
struct wish {
	const char *user; /**< whose rights CMD is to have; NULL: the caller's */
	int terminal; /**< -1: -T; 0: not said; 1: -t; 2: -tt */
	bool null; /**< standard input is /dev/null */
	bool quiet;
	bool version, help;
	const char *view; /**< of `-o View=`; NULL: the agent's setting */
	const char *send[EHRSH_LIST]; /**< patterns of names, of SendEnv */
	size_t nsend;
	const char *set[EHRSH_LIST]; /**< NAME=VALUE, of SetEnv */
	size_t nset;
};

/* fail.c */
/** Prints `ehrsh: message`; returns EHRSH_FAILED. */
int ehrsh_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* options.c */
/**
 * Takes ssh's options from argv, as far as the first argument that is none. Returns the number of
 * arguments taken, argv[0] among them; or -1 after a message.
 */
int options_take(struct wish *wish, int argc, char **argv);

/* environment.c */
/** What a login over there would have: allocated, NULL-terminated. NULL: no memory. */
char **environment_make(const struct wish *wish, const struct passwd *user, bool terminal);

#endif
