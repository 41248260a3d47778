// SPDX-License-Identifier: GPL-2.0-or-later
#include "writer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

#define COLUMNS_MAX 16

struct table {
	unsigned int columns;
	size_t cells, room;
	char **cell; /* row by row, the heading first */
	size_t width[COLUMNS_MAX];
};

/* Characters, not bytes: names may be UTF-8. */
static size_t width_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static void add_cell(struct table *t, unsigned int column, const char *text)
{
	if (t->cells == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		char **cell = realloc(t->cell, room * sizeof(*cell));

		if (!cell)
			goto no_memory;
		t->cell = cell;
		t->room = room;
	}
	t->cell[t->cells] = strdup(text);
	if (!t->cell[t->cells])
		goto no_memory;
	t->cells++;
	if (width_of(text) > t->width[column])
		t->width[column] = width_of(text);
	return;

no_memory:
	/* An incomplete table is worse than none. */
	exit(fail(EXIT_REFUSED, "out of memory"));
}

struct table *table_new(const char *heading, ...)
{
	struct table *t = calloc(1, sizeof(*t));
	va_list args;

	if (!t)
		exit(fail(EXIT_REFUSED, "out of memory"));
	va_start(args, heading);
	for (; heading && t->columns < COLUMNS_MAX; heading = va_arg(args, const char *))
		add_cell(t, t->columns++, heading);
	va_end(args);
	return t;
}

void table_row(struct table *t, const char *cell, ...)
{
	unsigned int column = 0;
	va_list args;

	va_start(args, cell);
	for (; column < t->columns; column++) {
		add_cell(t, column, cell ? cell : "");
		if (cell)
			cell = va_arg(args, const char *);
	}
	va_end(args);
}

void table_print(struct table *t)
{
	for (size_t i = 0; i < t->cells; i++) {
		unsigned int column = i % t->columns;
		bool last = column + 1 == t->columns;

		fputs(t->cell[i], stdout);
		if (last)
			putchar('\n');
		else
			printf("%*s", (int)(t->width[column] - width_of(t->cell[i]) + 2), "");
		free(t->cell[i]);
	}
	free(t->cell);
	free(t);
}

/* 15 digits: all that a decimal from the agent has, and none that only its binary form has. */
int json_print(const json_t *document)
{
	if (json_dumpf(document, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15)) ||
	    putchar('\n') == EOF || fflush(stdout))
		return fail(EXIT_REFUSED, "cannot write the output: %s", strerror(errno));
	return EXIT_DONE;
}

static char *next_buffer(size_t *size)
{
	static char buffers[16][64];
	static unsigned int next;

	*size = sizeof(buffers[0]);
	return buffers[next++ % 16];
}

const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && *text ? text : "-";
}

const char *decimal_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	size_t size;
	char *buf;

	if (!json_is_number(value))
		return "-";
	buf = next_buffer(&size);
	snprintf(buf, size, "%.2f", json_number_value(value));
	return buf;
}

const char *integer_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	size_t size;
	char *buf;

	if (!json_is_integer(value))
		return "-";
	buf = next_buffer(&size);
	snprintf(buf, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	return buf;
}
