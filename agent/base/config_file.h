/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file config_file.h  The text of a configuration file. */
#ifndef AGENT_BASE_CONFIG_FILE_H
#define AGENT_BASE_CONFIG_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

/** The whole file, 0-terminated and with blanks for comments. NULL after an error on `errors`. */
char *config_file_read(const char *file, FILE *errors);

#define CONFIG_FILE_WHY (PATH_MAX + 160)
/**
 * Whether only root can change the file, or put another one in its place; else `why`. `real`: its path
 * without symbolic links, by which that is so.
 */
bool config_file_is_roots(const char *file, char real[PATH_MAX], char why[CONFIG_FILE_WHY]);

#endif
