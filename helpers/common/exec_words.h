/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file exec_words.h
 * What the words of `ehctl exec` ask for, and the arguments of home's end for it. Nothing but libc: ehctl
 * is home's end itself where they are right, and another program says what is wrong with them.
 */
#ifndef HELPERS_COMMON_EXEC_WORDS_H
#define HELPERS_COMMON_EXEC_WORDS_H

#include <stdbool.h>

/* The agent knows the names; these are limits of a job, and of what the stub says of it. */
#define EXEC_NODE_MAX 61
#define EXEC_NODE_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]"

struct exec_words {
	char token[EXEC_NODE_MAX + 2]; /**< where it is placed: "@NODE", "@auto", "@all" */
	bool retry;
	const char *view; /**< NULL: not said */
	char **command; /**< NULL-terminated */
};

/** Why words are not understood; `word`: which, or NULL, and the option that it belongs to. */
struct exec_trouble {
	const char *text, *word, *option;
	bool unknown; /**< `word` is no argument of the command; no text */
};

/** argv[0] is "exec", and the last NULL. False: *trouble says why. */
bool exec_words(char **argv, struct exec_words *out, struct exec_trouble *trouble);
/** The command behind "--"; NULL: there is none. */
char **exec_words_command(char **argv);

/** Arguments of the stub; argv[0] is free for its path. `first`: an option that comes first, or NULL.
 *  Allocated; NULL: no memory. */
char **stub_words(const char *first, bool retry, const char *view, const char *token,
		  const char *program, char *const *command);

#endif
