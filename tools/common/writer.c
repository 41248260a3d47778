// SPDX-License-Identifier: GPL-2.0-or-later
#include "writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

/* 15 digits: all that a decimal from the agent has, and none that only its binary form has. */
int json_print(const json_t *document)
{
	if (json_dumpf(document, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15)) ||
	    putchar('\n') == EOF || fflush(stdout))
		return fail(EXIT_REFUSED, "cannot write the output: %s", strerror(errno));
	return EXIT_DONE;
}

int json_print_new(json_t *document)
{
	int code = document ? json_print(document) : fail(EXIT_REFUSED, "no memory for the output");

	json_decref(document);
	return code;
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

const char *id_of(const json_t *task)
{
	return text_of(task, json_object_get(task, "short") ? "short" : "id");
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

const char *duration_text(double seconds)
{
	uint64_t s;
	size_t size;
	char *buf;

	if (!(seconds >= 0) || seconds > 1e15)
		return "-";
	s = (uint64_t)seconds;
	buf = next_buffer(&size);
	if (s < 3600)
		snprintf(buf, size, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, size, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60,
			 s % 60);
	else
		snprintf(buf, size, "%" PRIu64 "d%02" PRIu64 ":%02" PRIu64, s / 86400,
			 s / 3600 % 24, s / 60 % 60);
	return buf;
}

const char *duration_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? duration_text(json_number_value(value)) : "-";
}

const char *size_of(const json_t *object, const char *key)
{
	static const char units[] = "KMGTPE";
	const json_t *value = json_object_get(object, key);
	unsigned int unit = 0;
	double n;
	size_t size;
	char *buf;

	if (!json_is_number(value) || !(json_number_value(value) >= 0))
		return "-";
	n = json_number_value(value) / 1024;
	for (; n >= 999.5 && units[unit + 1]; unit++)
		n /= 1024;
	buf = next_buffer(&size);
	snprintf(buf, size, n < 9.95 && unit ? "%.1f%c" : "%.0f%c", n, units[unit]);
	return buf;
}
