// SPDX-License-Identifier: GPL-2.0-or-later
#include "query.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "store.h"

#define QUERY_FAILED "(status<>0 OR state IN('lost','refused'))"
#define QUERY_HOUR 3600000

/* Each is there only if the question has that member. Numbered parameters: the order of this list. */
static const struct {
	const char *member, *sql;
} query_filters[] = {
	{ "since", "started>=?1" },
	{ "until", "started<?2" },
	{ "uid", "uid=?3" },
	{ "reason", "reason=?4" },
	/* as it was named, or with what was added to make the name unique */
	{ "session", "(session=?5 OR substr(session,1,length(?5)+1)=?5||'.'"
		     " OR substr(session,1,length(?13)+1)=?13||'.')" },
	{ "executor", "(executor=?6 OR executor_host=?6)" },
	{ "program", "(program=?7 OR command=?7)" },
	{ "before", "rowid<?8" },
	{ "id", "id=?9" },
	{ "home", "substr(id,1,length(?10))=?10" },
	{ "figures", "substr(id,-length(?11))=?11" },
	{ "uids", "uid IN(SELECT value FROM json_each(?12))" },
	{ "wish", "1" }, /* of `session` */
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

static void query_explain_status(json_t *row)
{
	const json_t *status = json_object_get(row, "status");
	const int code = (int)json_integer_value(status);

	json_object_set_new(row, "exit",
			    json_is_integer(status) && WIFEXITED(code)
				    ? json_integer(WEXITSTATUS(code))
				    : json_null());
	json_object_set_new(row, "signal",
			    json_is_integer(status) && WIFSIGNALED(code)
				    ? json_integer(WTERMSIG(code))
				    : json_null());
	json_object_del(row, "status");
}

/* Says some members in the words of `tasks`, and what follows from them. */
static void query_explain(json_t *row)
{
	const json_t *started = json_object_get(row, "started"),
		     *ended = json_object_get(row, "ended");
	json_t *steps =
		json_loads(json_string_value(json_object_get(row, "steps")) ?: "[]", 0, NULL);

	json_object_set_new(row, "elapsed",
			    json_is_integer(ended)
				    ? json_real(((double)json_integer_value(ended) -
						 (double)json_integer_value(started)) /
						1000)
				    : json_null());
	query_explain_status(row);
	json_object_set(row, "at", (json_t *)started);
	json_object_set_new(row, "started", query_time(started));
	json_object_set_new(row, "ended", query_time(ended));
	if (json_object_get(row, "steps"))
		json_object_set_new(row, "steps",
				    json_is_array(steps) ? json_incref(steps) : json_array());
	json_decref(steps);
}

static json_t *query_row(sqlite3_stmt *from, const json_t *ask)
{
	const bool one = json_object_get(ask, "id") || json_object_get(ask, "figures");
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

/* Adds " WHERE …" to sql. */
static void query_where(const json_t *ask, const char *first, char *sql, size_t size)
{
	const char *and = *first ? " AND " : " WHERE ";
	size_t n = strlen(sql);

	n += snprintf(sql + n, size - n, "%s", first);
	for (size_t i = 0; i < QUERY_FILTERS && n < size; i++) {
		if (!json_object_get(ask, query_filters[i].member))
			continue;
		n += snprintf(sql + n, size - n, "%s%s", and, query_filters[i].sql);
		and = " AND ";
	}
	if (json_is_true(json_object_get(ask, "failed")) && n < size)
		snprintf(sql + n, size - n, "%s" QUERY_FAILED, and);
}

static void query_bind(sqlite3_stmt *to, const json_t *ask)
{
	for (size_t i = 0; i < QUERY_FILTERS; i++) {
		const json_t *value = json_object_get(ask, query_filters[i].member);

		if (json_is_string(value))
			sqlite3_bind_text(to, (int)i + 1, json_string_value(value), -1,
					  SQLITE_TRANSIENT);
		else if (json_is_integer(value))
			sqlite3_bind_int64(to, (int)i + 1, json_integer_value(value));
		else if (json_is_array(value))
			sqlite3_bind_text(to, (int)i + 1, json_dumps(value, JSON_COMPACT), -1,
					  free);
	}
}

static json_t *query_error(struct store *s)
{
	return json_pack("{s:s}", "error",
			 s->db ? sqlite3_errmsg(s->db)
			       : "cannot be opened; see the "
				 "log of the agent");
}

typedef json_t *(*query_make_fn)(sqlite3_stmt *from, const json_t *ask);

/* A list under this name, with `more`: whether there would be more than `limit`. */
static json_t *query_list(struct store *s, const char *sql, const json_t *ask, const char *name,
			  int limit, query_make_fn make)
{
	json_t *list, *error = NULL;
	sqlite3_stmt *rows;
	bool more = false;
	int err;

	if (sqlite3_prepare_v2(s->db, sql, -1, &rows, NULL) != SQLITE_OK)
		return query_error(s);
	query_bind(rows, ask);
	list = json_array();
	while ((err = sqlite3_step(rows)) == SQLITE_ROW && !more) {
		more = json_array_size(list) == (size_t)limit;
		if (!more)
			json_array_append_new(list, make(rows, ask));
	}
	if (err != SQLITE_DONE && err != SQLITE_ROW)
		error = query_error(s);
	sqlite3_finalize(rows);
	if (error) {
		json_decref(list);
		return error;
	}
	return json_pack("{s:o,s:b,s:I}", name, list, "more", (int)more, "dropped",
			 (json_int_t)s->dropped);
}

/* ---- tasks ---- */

static int query_limit(const json_t *ask)
{
	const json_int_t wish = json_integer_value(json_object_get(ask, "limit"));

	return wish > 0 && wish < QUERY_PAGE ? (int)wish : QUERY_PAGE;
}

static json_t *query_tasks(struct store *s, const json_t *ask)
{
	const int limit = query_limit(ask);
	char sql[1536] = "SELECT *,rowid FROM tasks";
	size_t n;

	query_where(ask, "", sql, sizeof(sql));
	n = strlen(sql);
	snprintf(sql + n, sizeof(sql) - n, " ORDER BY %srowid DESC LIMIT %d",
		 json_is_true(json_object_get(ask, "by_time")) ? "started DESC," : "", limit + 1);
	return query_list(s, sql, ask, "tasks", limit, query_row);
}

/* ---- groups of tasks ---- */

/* What they are grouped by; what else is the same in each, or is wanted of it; and which tasks. */
static const struct query_group {
	const char *by, *key, *more, *where;
} query_groups[] = {
	{ "user", "uid", ",uid", "" },
	{ "session", "session",
	  ",min(uid) AS uid,home,max(home_host) AS home_host,"
	  /* what was started with `ehctl run` has the process ID that is in the session's name */
	  "max(CASE WHEN session GLOB '*.'||pid||'.*' THEN status END) AS status",
	  " WHERE session IS NOT NULL" },
	{ "program", "program", "", "" },
	{ "node", "executor", ",executor,max(executor_host) AS executor_host", "" },
	{ "reason", "reason", "", "" },
	{ "text", "text", "", " WHERE executor=home" },
	{ "hour", NULL, "", "" },
};

static json_t *query_group_row(sqlite3_stmt *from, const json_t *ask)
{
	const bool hour = !strcmp(json_string_value(json_object_get(ask, "by")), "hour");
	const json_t *number;
	json_t *group = json_object();

	for (int i = 0; i < sqlite3_column_count(from); i++)
		json_object_set_new(group, sqlite3_column_name(from, i), query_value(from, i));
	number = json_object_get(group, "key");
	if (hour) {
		json_object_set(group, "at", (json_t *)number);
		json_object_set_new(group, "key", query_time(number));
	} else {
		json_object_set_new(
			group, "at",
			json_integer((json_int_t)(1000 * json_number_value(json_object_get(
								 group, "cpu_away")))));
	}
	json_object_set_new(group, "started", query_time(json_object_get(group, "started")));
	json_object_set_new(group, "last", query_time(json_object_get(group, "last")));
	if (json_object_get(group, "status"))
		query_explain_status(group);
	return group;
}

static json_int_t query_number(const json_t *ask, const char *member, json_int_t otherwise)
{
	const json_int_t n = json_integer_value(json_object_get(ask, member));

	return n > 0 ? n : otherwise;
}

static json_t *query_group(struct store *s, const struct query_group *g, const json_t *ask)
{
	const json_int_t width = query_number(ask, "width", QUERY_HOUR);
	json_int_t offset = json_integer_value(json_object_get(ask, "offset")) % width;
	char hour[96], sql[2560];
	size_t n;

	/* two signs in a row would begin a comment */
	if (offset < 0)
		offset += width;

	snprintf(hour, sizeof(hour), "(started+%lld)/%lld*%lld-%lld", (long long)offset,
		 (long long)width, (long long)width, (long long)offset);
	snprintf(sql, sizeof(sql),
		 "SELECT %s AS key%s,count(*) AS tasks,"
		 "count(CASE WHEN executor<>home THEN 1 END) AS away,"
		 "total(cpu_user)+total(cpu_system) AS cpu_away,"
		 "count(CASE WHEN " QUERY_FAILED " THEN 1 END) AS failed,"
		 "count(CASE WHEN state='lost' THEN 1 END) AS lost,"
		 "count(CASE WHEN state IN('here','away') THEN 1 END) AS running,"
		 "min(started) AS started,max(COALESCE(ended,started)) AS last FROM tasks",
		 g->key ?: hour, g->more);
	query_where(ask, g->where, sql, sizeof(sql));
	n = strlen(sql);
	snprintf(sql + n, sizeof(sql) - n, " GROUP BY 1%s ORDER BY %s DESC LIMIT %d",
		 !strcmp(g->by, "session") ? ",home" : "", g->key ? "cpu_away DESC,tasks" : "key",
		 QUERY_GROUPS + 1);
	return query_list(s, sql, ask, "groups", QUERY_GROUPS, query_group_row);
}

static json_t *query_by(struct store *s, const char *by, const json_t *ask)
{
	for (size_t i = 0; i < sizeof(query_groups) / sizeof(*query_groups); i++)
		if (!strcmp(by, query_groups[i].by))
			return query_group(s, &query_groups[i], ask);
	return json_pack("{s:s}", "error", "tasks cannot be grouped by that");
}

/* ---- events ---- */

static json_t *query_event(sqlite3_stmt *from, const json_t *ask)
{
	json_t *event = json_loads((const char *)sqlite3_column_text(from, 2) ?: "{}", 0, NULL);
	json_t *row = query_value(from, 0), *at = query_value(from, 1);

	if (!event)
		event = json_object();
	json_object_set_new(event, "id",
			    json_sprintf("%s#%" JSON_INTEGER_FORMAT,
					 json_string_value(json_object_get(event, "self")) ?: "",
					 json_integer_value(row)));
	json_object_set_new(event, "row", row);
	json_object_set_new(event, "at", at);
	return event;
}

static json_t *query_events(struct store *s, const json_t *ask)
{
	const int limit = query_limit(ask);
	char sql[512];

	/* The numbers are those of the filters. */
	snprintf(sql, sizeof(sql),
		 "SELECT rowid,at,what FROM events WHERE (?1 IS NULL OR at>=?1) AND "
		 "(?2 IS NULL OR at<?2) AND (?6 IS NULL OR ?6 IN(node,host,self,self_host)) AND "
		 "(?8 IS NULL OR rowid<?8) ORDER BY %srowid DESC LIMIT %d",
		 json_is_true(json_object_get(ask, "by_time")) ? "at DESC," : "", limit + 1);
	return query_list(s, sql, ask, "events", limit, query_event);
}

json_t *query_answer(struct store *s, const json_t *ask)
{
	const char *by = json_string_value(json_object_get(ask, "by"));

	/* It may be readable although it cannot be written. */
	s->again = 0;
	if (store_open(s))
		return query_error(s);
	if (json_is_true(json_object_get(ask, "events")))
		return query_events(s, ask);
	return by ? query_by(s, by, ask) : query_tasks(s, ask);
}
