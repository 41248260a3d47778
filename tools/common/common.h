/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file common.h  What the programs a user types share: messages, options, output. */
#ifndef TOOLS_COMMON_H
#define TOOLS_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <jansson.h>

/** Exit codes of every command; run and exec exit as the task did. */
enum { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2 };

/* ---- usage.c ---- */

extern const char *command_name;  /**< for messages; NULL: none yet */
extern const char *command_usage; /**< its arguments, for the usage line; NULL: none */

/** Prints `ehctl COMMAND: message` and returns `code`. */
int fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** The command's usage line behind a message; returns EXIT_USAGE. */
int bad_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** Takes the options every command has out of argv, except behind "--". The new argc. */
int take_common(int argc, char **argv, bool *json, bool *help);
/** Output that got lost is a failure, whatever the command thought: the code to exit with. */
int finish_output(int code);

/* ---- words.c ---- */

/** Index of `text` in a NULL-terminated list, or -1. */
int word_of(const char *const *words, const char *text);
/** A whole number from 0 to max. 0 or -EINVAL. */
int parse_count(const char *text, uint64_t max, uint64_t *out);
/** A plain decimal number from 0 to max. 0 or -EINVAL. */
int parse_real(const char *text, double max, double *out);

/* ---- progress.c ---- */

/** Seconds of a clock. */
double seconds_of(int clock);
/** A line on standard error that the next one replaces, when that is a terminal; gone at done = all. */
void show_progress(const char *what, uint64_t done, uint64_t all);

/* ---- gnuplot.c ---- */

/** Lets `write` write gnuplot's script, and has its output in the file `path`. 0, or an exit
 *  code after a message; no file is left behind then. */
int gnuplot_draw(const char *path, void (*write)(FILE *script, const void *ctx), const void *ctx);

/* ---- writer.c ---- */

/** Rows of equal length; columns are as wide as their widest cell. NULL ends a row. */
struct table;
struct table *table_new(const char *heading, ...) __attribute__((sentinel));
void table_row(struct table *t, const char *cell, ...) __attribute__((sentinel));
void table_print(struct table *t);	/**< and frees it */

/** The document as --json prints it. Returns EXIT_DONE or EXIT_REFUSED (write error). */
int json_print(const json_t *document);

/* What text shows of a member; "-" where there is none. The result is good until the 16th call after. */
const char *text_of(const json_t *object, const char *key);
const char *decimal_of(const json_t *object, const char *key);	/**< two places */
const char *integer_of(const json_t *object, const char *key);

#endif
