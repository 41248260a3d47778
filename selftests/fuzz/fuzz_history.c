// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What ehhist is told and asked, a JSON text a line: rows of any members and types, questions with any filters, limits
 * that change. An answer has the page that was asked for at most, and is JSON again.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helpers/ehhist/query.h"
#include "helpers/ehhist/say.h"
#include "helpers/ehhist/store.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What it would say in the log. */
void say(enum say level, const char *format, ...)
{
}

static void question(struct store *s, const json_t *ask)
{
	const json_int_t limit = json_integer_value(json_object_get(ask, "limit"));
	json_t *answer, *tasks, *back;
	char *text;

	store_commit(s);
	answer = query_answer(s, ask);
	text = json_dumps(answer, JSON_COMPACT);
	must(answer && text);
	back = json_loads(text, 0, NULL);
	must(back && json_equal(back, back));
	tasks = json_object_get(answer, "tasks");
	must(json_is_array(tasks) || json_object_get(answer, "error"));
	must(json_array_size(tasks) <= QUERY_PAGE);
	must(limit <= 0 || json_array_size(tasks) <= (size_t)limit);
	json_decref(back);
	json_decref(answer);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store s = { .file = ":memory:", .rows = 8, .bytes = 1 << 20, .age_s = 1ll << 40 };

	must(!store_open(&s));
	store_adopt(&s);
	while (size) {
		const uint8_t *end = memchr(data, '\n', size);
		const size_t n = end ? (size_t)(end - data) : size;
		json_t *message = json_loadb((const char *)data, n, 0, NULL);

		/* as helpers/ehhist/main.c does */
		if (json_object_get(message, "ask"))
			question(&s, json_object_get(message, "ask"));
		else if (json_object_get(message, "id"))
			store_put(&s, message);
		json_decref(message);
		data += n + !!end;
		size -= n + !!end;
	}
	store_commit(&s);
	question(&s, NULL);
	store_close(&s);
	return 0;
}
