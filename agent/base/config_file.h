/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file config_file.h  The text of a configuration file. For config.c. */
#ifndef AGENT_BASE_CONFIG_FILE_H
#define AGENT_BASE_CONFIG_FILE_H

#include <stdio.h>

/** The whole file, 0-terminated and with blanks for comments. NULL after an error on `errors`. */
char *config_file_read(const char *file, FILE *errors);

#endif
