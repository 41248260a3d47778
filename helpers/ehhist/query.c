// SPDX-License-Identifier: GPL-2.0-or-later
#include "query.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "store.h"

/* Each is there only if the question has that member. Numbered parameters: the order of this list. */
static const struct {
	const char *member, *sql;
} query_filters[] = {
	{ "since", "started>=?1" },
	{ "until", "started<?2" },
	{ "uid", "uid=?3" },
	{ "reason", "reason=?4" },
	/* as it was named, or with what was added to make the name unique */
	{ "session", "(session=?5 OR substr(session,1,length(?5)+1)=?5||'.')" },
	{ "executor", "(executor=?6 OR executor_host=?6)" },
	{ "program", "(program=?7 OR command=?7)" },
	{ "before", "rowid<?8" },
	{ "id", "id=?9" },
	{ "home", "substr(id,1,length(?10))=?10" },
	{ "figures", "substr(id,-length(?11))=?11" },
};
#define QUERY_FILTERS (sizeof(query_filters) / sizeof(*query_filters))

static json_t *query_value(sqlite3_stmt *from, int column)
{
	switch (sqlite3_column_type(from, column)) {
	case SQLITE_INTEGER:
		return json_integer(sqlite3_column_int64(from, column));
	case SQLITE_FLOAT:
		return json_real(sqlite3_column_double(from, column));
	case SQLITE_TEXT:
		return json_string((const char *)sqlite3_column_text(from, column));
	default:
		return json_null();
	}
}

/* ISO 8601 in UTC, as the agent writes times; null stays null. */
static json_t *query_time(const json_t *ms)
{
	time_t seconds = json_integer_value(ms) / 1000;
	char text[40];
	struct tm tm;
	size_t n;

	if (!json_is_integer(ms) || !gmtime_r(&seconds, &tm))
		return json_null();
	n = strftime(text, sizeof(text), "%FT%T", &tm);
	snprintf(text + n, sizeof(text) - n, ".%03dZ", (int)(json_integer_value(ms) % 1000));
	return json_string(text);
}

/* Says some members in the words of `tasks`, and what follows from them. */
static void query_explain(json_t *row)
{
	const json_t *started = json_object_get(row, "started"),
		     *ended = json_object_get(row, "ended");
	const json_t *status = json_object_get(row, "status");
	const int code = (int)json_integer_value(status);
	json_t *steps =
		json_loads(json_string_value(json_object_get(row, "steps")) ?: "[]", 0, NULL);

	json_object_set_new(row, "elapsed",
			    json_is_integer(ended)
				    ? json_real(((double)json_integer_value(ended) -
						 (double)json_integer_value(started)) /
						1000)
				    : json_null());
	json_object_set_new(row, "exit",
			    json_is_integer(status) && WIFEXITED(code)
				    ? json_integer(WEXITSTATUS(code))
				    : json_null());
	json_object_set_new(row, "signal",
			    json_is_integer(status) && WIFSIGNALED(code)
				    ? json_integer(WTERMSIG(code))
				    : json_null());
	json_object_set(row, "at", (json_t *)started);
	json_object_set_new(row, "started", query_time(started));
	json_object_set_new(row, "ended", query_time(ended));
	json_object_del(row, "status");
	if (json_object_get(row, "steps"))
		json_object_set_new(row, "steps",
				    json_is_array(steps) ? json_incref(steps) : json_array());
	json_decref(steps);
}

static json_t *query_row(sqlite3_stmt *from, bool one)
{
	json_t *row = json_object();

	for (int i = 0; i < STORE_COLUMNS; i++) {
		const char *name = store_columns[i].name;

		/* They are long, and of no use in a list. */
		if (one || (strcmp(name, "text") && strcmp(name, "steps")))
			json_object_set_new(row, name, query_value(from, i));
	}
	json_object_set_new(row, "row", json_integer(sqlite3_column_int64(from, STORE_COLUMNS)));
	query_explain(row);
	return row;
}

static void query_sql(const json_t *ask, char *sql, size_t size)
{
	const char *and = " WHERE ";
	size_t n = snprintf(sql, size, "SELECT *,rowid FROM tasks");

	for (size_t i = 0; i < QUERY_FILTERS && n < size; i++) {
		if (!json_object_get(ask, query_filters[i].member))
			continue;
		n += snprintf(sql + n, size - n, "%s%s", and, query_filters[i].sql);
		and = " AND ";
	}
	if (json_is_true(json_object_get(ask, "failed")))
		n += snprintf(sql + n, size - n, "%s(status<>0 OR state IN('lost','refused'))",
			      and);
	snprintf(sql + n, size - n, " ORDER BY rowid DESC LIMIT ?12");
}

static void query_bind(sqlite3_stmt *to, const json_t *ask, int limit)
{
	for (size_t i = 0; i < QUERY_FILTERS; i++) {
		const json_t *value = json_object_get(ask, query_filters[i].member);

		if (json_is_string(value))
			sqlite3_bind_text(to, (int)i + 1, json_string_value(value), -1,
					  SQLITE_TRANSIENT);
		else if (json_is_integer(value))
			sqlite3_bind_int64(to, (int)i + 1, json_integer_value(value));
	}
	sqlite3_bind_int(to, (int)QUERY_FILTERS + 1, limit + 1);
}

static json_t *query_error(struct store *s)
{
	return json_pack("{s:s}", "error",
			 s->db ? sqlite3_errmsg(s->db)
			       : "cannot be opened; see the "
				 "log of the agent");
}

json_t *query_answer(struct store *s, const json_t *ask)
{
	json_int_t wish = json_integer_value(json_object_get(ask, "limit"));
	const int limit = wish > 0 && wish < QUERY_PAGE ? (int)wish : QUERY_PAGE;
	const bool one = json_object_get(ask, "id") || json_object_get(ask, "figures");
	json_t *tasks;
	sqlite3_stmt *rows;
	bool more = false;
	char sql[1024];
	int err;

	/* It may be readable although it cannot be written. */
	s->again = 0;
	if (store_open(s))
		return query_error(s);
	query_sql(ask, sql, sizeof(sql));
	if (sqlite3_prepare_v2(s->db, sql, -1, &rows, NULL) != SQLITE_OK)
		return query_error(s);
	query_bind(rows, ask, limit);
	tasks = json_array();
	while ((err = sqlite3_step(rows)) == SQLITE_ROW && !more) {
		more = json_array_size(tasks) == (size_t)limit;
		if (!more)
			json_array_append_new(tasks, query_row(rows, one));
	}
	if (err != SQLITE_DONE && err != SQLITE_ROW) {
		json_decref(tasks);
		tasks = query_error(s);
		sqlite3_finalize(rows);
		return tasks;
	}
	sqlite3_finalize(rows);
	return json_pack("{s:o,s:b,s:I}", "tasks", tasks, "more", (int)more, "dropped",
			 (json_int_t)s->dropped);
}
