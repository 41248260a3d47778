// SPDX-License-Identifier: GPL-2.0-or-later
#include "help.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "wire/clean.h"

#define HELP_WIDTH 80
#define HELP_INDENT 8 /* a line that is further in goes on with one before it */

/* A line that is written. */
struct help {
	FILE *out;
	size_t at, column; /* where it is; where the next one begins */
};

static void help_put(struct help *h, const char *text, size_t length)
{
	fprintf(h->out, "%.*s", (int)length, text);
	h->at += clean_columns(text, length);
}

static void help_word(struct help *h, const char *word, size_t length)
{
	if (h->at > h->column && h->at + 1 + clean_columns(word, length) > HELP_WIDTH) {
		fputc('\n', h->out);
		h->at = 0;
	}
	if (h->at < h->column) {
		fprintf(h->out, "%*s", (int)(h->column - h->at), "");
		h->at = h->column;
	} else if (h->at > h->column) {
		help_put(h, " ", 1);
	}
	help_put(h, word, length);
}

static void help_words(struct help *h, const char *text, size_t length)
{
	const char *const end = text + length;

	for (size_t n; text < end; text += n) {
		text += strspn(text, " \n");
		n = strcspn(text, " \n");
		if (text + n > end)
			n = text < end ? (size_t)(end - text) : 0;
		if (n)
			help_word(h, text, n);
	}
}

void help_paragraph(FILE *out, const char *text, size_t column)
{
	struct help h = { out, column, column };

	help_words(&h, text, strlen(text));
	fputc('\n', out);
}

/* The length of an argument: "[--to NODE]" is one. */
static size_t help_argument(const char *text)
{
	size_t n = 0;

	for (int depth = 0; text[n] && (depth || !strchr(" \n", text[n])); n++)
		depth += (text[n] == '[') - (text[n] == ']');
	return n;
}

void help_usage(FILE *out, const char *command, const char *arguments)
{
	struct help h = { out, 0, 0 };

	help_put(&h, "usage: ehctl ", strlen("usage: ehctl "));
	help_put(&h, command, strlen(command));
	h.column = strlen("usage: ");
	for (size_t n; *arguments; arguments += n) {
		arguments += strspn(arguments, " \n");
		n = help_argument(arguments);
		if (n)
			help_word(&h, arguments, n);
	}
	fputc('\n', out);
}

/* The column of the text behind an option; 0: there is none. */
static size_t help_gap(const char *line, size_t indent, size_t length)
{
	const char *gap = strstr(line + indent, "  ");
	size_t at;

	if (!gap || gap >= line + length)
		return 0;
	at = gap - line;
	return at + strspn(gap, " ");
}

/* Writes the option as it is, up to its text, which begins there. */
static void help_option(struct help *h, const char *line, size_t gap)
{
	help_put(h, line, gap);
	h->column = h->at;
}

void help_text(FILE *out, const char *text)
{
	struct help h = { out, 0, 0 };
	bool open = false;
	size_t length;

	for (;; text += length + 1) {
		const size_t indent = strspn(text, " ");
		size_t gap;

		length = strcspn(text, "\n");
		gap = help_gap(text, indent, length);
		if (open &&
		    (!length || gap || indent != h.column || (indent && indent < HELP_INDENT))) {
			fputc('\n', out);
			open = false;
		}
		if (!length) {
			fputc('\n', out);
		} else {
			if (!open) {
				h.at = 0;
				h.column = indent;
			}
			if (gap)
				help_option(&h, text, gap);
			help_words(&h, text + gap, length - gap);
			open = true;
		}
		if (!text[length])
			break;
	}
	if (open)
		fputc('\n', out);
}

void help_command(const char *command, const char *arguments, const char *text)
{
	help_usage(stdout, command, arguments);
	printf("\n");
	help_text(stdout, text);
}
