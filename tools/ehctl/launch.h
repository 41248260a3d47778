/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file launch.h  From the command line to a program that starts. */
#ifndef EHCTL_LAUNCH_H
#define EHCTL_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

/** Searches PATH as a shell does. NULL after a message, with *code 127 (not found) or 126. */
char *launch_find(const char *name, char *buf, size_t size, int *code);
/** Executes a program that is installed beside ehctl or in libexec/ehsched, with its path as argv[0].
 *  Returns only on failure, with the exit code after a message. */
int launch_companion(const char *name, char **argv);
/** The same with arguments: those of `before`, which ends with NULL, --json, and argv but its first. */
int launch_program(const char *name, const char *const *before, int argc, char **argv, bool json);
/** Executes the stub for argv (NULL-terminated). `token` says where it is placed: "@CODE", "@auto".
 *  Returns only on failure, with the exit code after a message. */
int launch_stub(const char *token, bool retry, const char *view, char **argv);
/** The part of argv after "--"; NULL after a message if there is none. */
char **launch_command(int argc, char **argv);

#endif
