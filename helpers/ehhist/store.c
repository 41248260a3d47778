// SPDX-License-Identifier: GPL-2.0-or-later
#include "store.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "say.h"

#define STORE_AGAIN_S 10 /* after a failure */
#define STORE_BUSY_MS 5000 /* the ehhist of an agent that has just ended may still write */
#define STORE_PAGE 4096
#define STORE_EVENTS 10000 /* at most, and no more than leaves most of a small file to tasks */
#define STORE_EVENT_SHARE 2048
#define STORE_UID 3 /* its column */

/* Times are in milliseconds since 1970, durations in seconds, memory and bytes in bytes. */
const struct store_column store_columns[STORE_COLUMNS] = {
	{ "id", "TEXT", false },	   { "session", "TEXT", false },
	{ "pid", "INTEGER", false },	   { "uid", "INTEGER", false },
	{ "program", "TEXT", false },	   { "command", "TEXT", false },
	{ "arguments", "TEXT", false },	   { "home", "TEXT", false },
	{ "home_host", "TEXT", false },	   { "executor", "TEXT", true },
	{ "executor_host", "TEXT", true }, { "reason", "TEXT", true },
	{ "text", "TEXT", true },	   { "steps", "TEXT", true },
	{ "state", "TEXT", true },	   { "started", "INTEGER", false },
	{ "ended", "INTEGER", true },	   { "status", "INTEGER", true },
	{ "cpu_user", "REAL", true },	   { "cpu_system", "REAL", true },
	{ "memory", "INTEGER", true },	   { "bytes", "INTEGER", true },
};

static int64_t store_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* What was put since the last commit is lost, too. */
static void store_fail(struct store *s, const char *what)
{
	if (!s->failed)
		say(SAY_WARNING,
		    "history: %s: cannot %s: %s; tasks go on, and are not recorded until this works "
		    "again",
		    s->file, what, s->db ? sqlite3_errmsg(s->db) : "out of memory");
	s->failed = true;
	s->dropped += s->put;
	s->put = 0;
	s->again = store_now() + STORE_AGAIN_S;
	store_close(s);
}

static int store_do(struct store *s, const char *sql)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

void store_close(struct store *s)
{
	sqlite3_finalize(s->insert);
	sqlite3_finalize(s->update);
	s->insert = s->update = NULL;
	sqlite3_close(s->db);
	s->db = NULL;
	s->writing = false;
}

enum store_list { STORE_TYPES, STORE_VALUES, STORE_CHANGES };

/* Writes what a statement says of all columns. */
static void store_list(char *out, size_t size, enum store_list what)
{
	size_t n = 0;

	*out = '\0';
	for (int i = 0; i < STORE_COLUMNS && n < size; i++) {
		const struct store_column *c = &store_columns[i];

		n += snprintf(out + n, size - n, "%s", i ? "," : "");
		if (what == STORE_TYPES)
			n += snprintf(out + n, size - n, "%s %s", c->name, c->type);
		else if (what == STORE_VALUES)
			n += snprintf(out + n, size - n, "?%d", i + 1);
		else if (c->last)
			n += snprintf(out + n, size - n, "%s=COALESCE(?%d,%s)", c->name, i + 1,
				      c->name);
		else
			n += snprintf(out + n, size - n, "%s=COALESCE(%s,?%d)", c->name, c->name,
				      i + 1);
	}
}

static int store_prepare(struct store *s)
{
	char list[2048], sql[4096];

	store_list(list, sizeof(list), STORE_VALUES);
	snprintf(sql, sizeof(sql), "INSERT INTO tasks VALUES(%s)", list);
	if (sqlite3_prepare_v2(s->db, sql, -1, &s->insert, NULL) != SQLITE_OK)
		return -1;
	store_list(list, sizeof(list), STORE_CHANGES);
	snprintf(sql, sizeof(sql),
		 "UPDATE tasks SET %s WHERE rowid=(SELECT rowid FROM tasks WHERE id=?1 AND "
		 "uid=COALESCE(?%d,uid) AND ended IS NULL ORDER BY rowid DESC LIMIT 1)",
		 list, STORE_UID + 1);
	return sqlite3_prepare_v2(s->db, sql, -1, &s->update, NULL) == SQLITE_OK ? 0 : -1;
}

static int store_make(struct store *s)
{
	char list[2048], sql[4096];

	store_list(list, sizeof(list), STORE_TYPES);
	snprintf(sql, sizeof(sql), "CREATE TABLE IF NOT EXISTS tasks(%s)", list);
	/* The first must be before the first table. WAL: a commit waits for one write, not for two. */
	if (store_do(s, "PRAGMA auto_vacuum=INCREMENTAL") ||
	    store_do(s, "PRAGMA journal_mode=WAL") || store_do(s, "PRAGMA synchronous=NORMAL") ||
	    store_do(s, "PRAGMA journal_size_limit=4194304") || store_do(s, sql) ||
	    store_do(s, "CREATE INDEX IF NOT EXISTS tasks_id ON tasks(id)") ||
	    store_do(s, "CREATE INDEX IF NOT EXISTS tasks_started ON tasks(started)") ||
	    store_do(s,
		     "CREATE TABLE IF NOT EXISTS events(at INTEGER,node TEXT,host TEXT,self TEXT,"
		     "self_host TEXT,what TEXT)"))
		return -1;
	/* Room for what a transaction adds before it is pruned. */
	snprintf(sql, sizeof(sql), "PRAGMA max_page_count=%lld",
		 (long long)s->bytes / STORE_PAGE * 2 + 256);
	return store_do(s, sql) || store_prepare(s) ? -1 : 0;
}

static int store_try(struct store *s)
{
	const int how = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
			SQLITE_OPEN_NOFOLLOW;
	int err = sqlite3_open_v2(s->file, &s->db, how, NULL);

	if (err == SQLITE_OK) {
		sqlite3_busy_timeout(s->db, STORE_BUSY_MS);
		if (!store_make(s))
			return SQLITE_OK;
		err = sqlite3_errcode(s->db);
	}
	return err;
}

/* A file that is not a database is kept for whoever wants to know why, and another one begun. */
static int store_begin_again(struct store *s)
{
	char broken[4096];

	store_close(s);
	snprintf(broken, sizeof(broken), "%s.broken", s->file);
	if (rename(s->file, broken))
		return SQLITE_CORRUPT;
	say(SAY_WARNING,
	    "history: %s is not a valid SQLite database: renamed to %s, and a new "
	    "one is created",
	    s->file, broken);
	snprintf(broken, sizeof(broken), "%s-wal", s->file);
	remove(broken);
	snprintf(broken, sizeof(broken), "%s-shm", s->file);
	remove(broken);
	return store_try(s);
}

int store_open(struct store *s)
{
	int err;

	if (s->db)
		return 0;
	if (s->failed && store_now() < s->again)
		return -1;
	err = store_try(s);
	if (err == SQLITE_NOTADB || err == SQLITE_CORRUPT)
		err = store_begin_again(s);
	if (err == SQLITE_OK)
		return 0;
	store_fail(s, "open it");
	return -1;
}

void store_adopt(struct store *s)
{
	if (s->db && store_do(s, "UPDATE tasks SET state='unknown' WHERE ended IS NULL AND "
				 "state IN('here','away')"))
		store_fail(s, "write to it");
}

static int store_bind(sqlite3_stmt *to, const json_t *row)
{
	int err = SQLITE_OK;

	sqlite3_reset(to);
	sqlite3_clear_bindings(to);
	for (int i = 0; i < STORE_COLUMNS && err == SQLITE_OK; i++) {
		const json_t *value = json_object_get(row, store_columns[i].name);

		if (json_is_string(value))
			err = sqlite3_bind_text(to, i + 1, json_string_value(value),
						(int)json_string_length(value), SQLITE_STATIC);
		else if (json_is_integer(value))
			err = sqlite3_bind_int64(to, i + 1, json_integer_value(value));
		else if (json_is_real(value))
			err = sqlite3_bind_double(to, i + 1, json_real_value(value));
	}
	return err;
}

static int store_step(sqlite3_stmt *what, const json_t *row)
{
	int err = store_bind(what, row);

	if (err == SQLITE_OK && sqlite3_step(what) != SQLITE_DONE)
		err = SQLITE_ERROR;
	/* The error stays that of the connection. */
	sqlite3_reset(what);
	sqlite3_clear_bindings(what);
	return err == SQLITE_OK ? 0 : -1;
}

static int store_begin(struct store *s)
{
	if (!s->writing && store_do(s, "BEGIN IMMEDIATE"))
		return -1;
	s->writing = true;
	return 0;
}

static int store_row(struct store *s, const json_t *row)
{
	int err;

	if (store_begin(s))
		return -1;
	err = json_is_true(json_object_get(row, "new")) ? 1 : store_step(s->update, row);
	if (!err && (sqlite3_changes(s->db) || json_is_true(json_object_get(row, "known"))))
		return 0;
	/* It is the first that is heard of it. */
	return err < 0 ? err : store_step(s->insert, row);
}

static void store_add(struct store *s, const json_t *message,
		      int (*add)(struct store *s, const json_t *message))
{
	if (store_open(s)) {
		s->dropped++;
	} else if (add(s, message)) {
		s->dropped++;
		store_fail(s, "write to it");
	} else {
		s->put++;
	}
}

void store_put(struct store *s, const json_t *row)
{
	store_add(s, row, store_row);
}

static const char *store_text(const json_t *event, const char *member)
{
	return json_string_value(json_object_get(event, member));
}

static int store_event(struct store *s, const json_t *message)
{
	const json_t *event = json_object_get(message, "event");
	char *what = json_dumps(event, JSON_COMPACT), *sql = NULL;
	int err = -1;

	if (what)
		sql = sqlite3_mprintf("INSERT INTO events VALUES(%lld,%Q,%Q,%Q,%Q,%Q)",
				      json_integer_value(json_object_get(message, "at")),
				      store_text(event, "node"), store_text(event, "host"),
				      store_text(event, "self"), store_text(event, "self_host"),
				      what);
	if (sql && !store_begin(s))
		err = store_do(s, sql);
	sqlite3_free(sql);
	free(what);
	return err;
}

void store_put_event(struct store *s, const json_t *message)
{
	store_add(s, message, store_event);
}

static int64_t store_number(struct store *s, const char *sql)
{
	sqlite3_stmt *ask;
	int64_t n = -1;

	if (sqlite3_prepare_v2(s->db, sql, -1, &ask, NULL) == SQLITE_OK &&
	    sqlite3_step(ask) == SQLITE_ROW)
		n = sqlite3_column_int64(ask, 0);
	sqlite3_finalize(ask);
	return n;
}

/* In the transaction that has added rows. */
static int store_prune(struct store *s)
{
	int64_t used, oldest, events = s->bytes / STORE_EVENT_SHARE;
	struct timespec now;
	char sql[512];

	clock_gettime(CLOCK_REALTIME, &now);
	oldest = ((int64_t)now.tv_sec - s->age_s) * 1000;
	if (events > STORE_EVENTS)
		events = STORE_EVENTS;
	snprintf(sql, sizeof(sql),
		 "DELETE FROM tasks WHERE started<%lld;"
		 "DELETE FROM tasks WHERE rowid<=(SELECT max(rowid) FROM tasks)-%lld;"
		 "DELETE FROM events WHERE at<%lld;"
		 "DELETE FROM events WHERE rowid<=(SELECT max(rowid) FROM events)-%lld",
		 (long long)oldest, (long long)s->rows, (long long)oldest, (long long)events);
	if (store_do(s, sql))
		return -1;
	used = store_number(s, "SELECT (page_count-freelist_count)*page_size FROM "
			       "pragma_page_count,pragma_freelist_count,pragma_page_size");
	if (used <= s->bytes)
		return used < 0 ? -1 : 0;
	/* A tenth at once, so that it is seldom. */
	return store_do(s, "DELETE FROM tasks WHERE rowid<(SELECT min(rowid)+(max(rowid)-"
			   "min(rowid))/10+1 FROM tasks)");
}

void store_commit(struct store *s)
{
	if (!s->db || !s->writing)
		return;
	s->writing = false;
	if (store_prune(s) || store_do(s, "COMMIT") || store_do(s, "PRAGMA incremental_vacuum")) {
		store_fail(s, "write to it");
		return;
	}
	if (s->failed)
		say(SAY_INFO, "history: %s can be written again; %llu records were not kept",
		    s->file, (unsigned long long)s->dropped);
	s->failed = false;
	s->put = s->dropped = 0;
}
