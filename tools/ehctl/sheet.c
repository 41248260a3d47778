// SPDX-License-Identifier: GPL-2.0-or-later
#include "sheet.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "history/csv.h"
#include "tools/common/common.h"

static int sheet_field(const char *text, bool last)
{
	size_t size = csv_field(NULL, 0, text) + 1;
	char *field = malloc(size);

	if (!field)
		return fail(EXIT_REFUSED, "out of memory");
	csv_field(field, size, text);
	fputs(field, stdout);
	fputs(last ? "\r\n" : ",", stdout);
	free(field);
	return EXIT_DONE;
}

/* Users choose names and arguments, and the reader of a spreadsheet with all of them may be root. */
static int sheet_text(const char *text, bool last)
{
	char *harmless = NULL;
	int code;

	if (csv_is_formula(text) && asprintf(&harmless, "'%s", text) < 0)
		return fail(EXIT_REFUSED, "out of memory");
	code = sheet_field(harmless ?: text, last);
	free(harmless);
	return code;
}

static int sheet_value(const json_t *value, bool last)
{
	char number[64] = "";

	if (json_is_string(value))
		return sheet_text(json_string_value(value), last);
	if (json_is_integer(value))
		snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
			 json_integer_value(value));
	else if (json_is_real(value))
		snprintf(number, sizeof(number), "%.6g", json_real_value(value));
	return sheet_field(number, last);
}

int sheet_print(const json_t *list, const char *const *columns, size_t count)
{
	json_t *one;
	size_t i;
	int code = EXIT_DONE;

	for (size_t c = 0; c < count && !code; c++)
		code = sheet_field(columns[c], c + 1 == count);
	json_array_foreach((json_t *)list, i, one)
		for (size_t c = 0; c < count && !code; c++)
			code = sheet_value(json_object_get(one, columns[c]), c + 1 == count);
	return code;
}
