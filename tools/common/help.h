/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file help.h  Texts of --help, in lines of up to 80 columns. */
#ifndef TOOLS_HELP_H
#define TOOLS_HELP_H

#include <stdio.h>

#define HELP_COLUMN 26 /**< of the texts of options that are in a table */

/** "usage: ehctl COMMAND ARGUMENTS", broken between arguments. */
void help_usage(FILE *out, const char *command, const char *arguments);

/** The usage and the text, with a line between them. */
void help_command(const char *command, const char *arguments, const char *text);

/**
 * A text whose paragraphs are filled again. A line of an option, "  --name  text", begins a paragraph; lines that
 * begin at the column of its text go on with it. So do lines that are not indented, after one that is not.
 */
void help_text(FILE *out, const char *text);

/** Writes the words of a text from this column on, to which the line is filled, and ends the line. */
void help_paragraph(FILE *out, const char *text, size_t column);

#endif
