/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file command.h  Messages, common options and exit codes of a command. */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

#include <stdbool.h>

/** Exit codes of every command; run and exec exit as the task did. */
enum { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2 };

extern const char *command_name; /**< for messages; NULL: not known yet */
extern const char *command_usage; /**< its arguments, for the usage line; NULL: there is none */

/** Prints lines that have words of the user or of others in them. */
void print_lines(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** Prints `ehctl COMMAND: message` and returns `code`. */
int fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** The same with the command's usage line below it; returns EXIT_USAGE. */
int bad_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** The same for an argument that the command does not know, with the nearest option of its usage line. */
int bad_argument(const char *argument);
/** Takes --json, --help and -h out of argv, up to "--". Returns the new argc. */
int command_take_options(int argc, char **argv, bool *json, bool *help);
/** The code to exit with: if output was lost, the command has failed in any case. */
int command_finish(int code);

#endif
