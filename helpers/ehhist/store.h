/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file store.h
 * The database of ended and running tasks, and of events of nodes: tables in a file of SQLite, with
 * limits to its age, its rows and its bytes.
 *
 * Each row is an object of JSON with the members of store_columns[]. A failure (a full disk, a file
 * that is not a database) is logged once; what comes then is dropped until a later try works.
 */
#ifndef EHHIST_STORE_H
#define EHHIST_STORE_H

#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct store_column {
	const char *name, *type;
	bool last; /**< the last value stands; of others the first */
};

#define STORE_COLUMNS 22
extern const struct store_column store_columns[STORE_COLUMNS];

struct store {
	const char *file;
	sqlite3 *db; /**< NULL: not open; the next write tries again */
	sqlite3_stmt *insert, *update;
	int64_t rows, bytes, age_s; /**< limits */
	bool writing; /**< within a transaction */
	bool failed; /**< which has been told */
	int64_t again; /**< when it may be tried again: seconds of a monotonic clock */
	uint64_t put; /**< rows of this transaction */
	uint64_t dropped; /**< rows, since it failed */
};

/** Opens the file, or makes it. 0, or -1 after a message. */
int store_open(struct store *s);
void store_close(struct store *s);
/** What was open when an agent ended: nobody sees the end of those that ran at home; of those that were
 *  away the next agent tells, once their stubs have come to it. */
void store_adopt(struct store *s);
/** Adds a row, or completes the open one of the same id. */
void store_put(struct store *s, const json_t *row);
/** Adds an event: {"event":{…},"at":ms}. */
void store_put_event(struct store *s, const json_t *message);
/** Makes durable what was put, and removes what is too old or too much. */
void store_commit(struct store *s);

#endif
