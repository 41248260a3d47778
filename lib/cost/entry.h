/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file entry.h  The inside of a table: users and the programs of each; for lib/cost only. */
#ifndef COST_ENTRY_H
#define COST_ENTRY_H

#include <stddef.h>
#include <sys/queue.h>

#include "cost/cost.h"

/* A failed allocation of uthash must not end the process. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define COST_MOST (1ull << 48) /* of a value: nine years in µs */
#define COST_RUNS 1000000u /* more are not counted */

struct cost_value {
	uint64_t mean, dev;
};

enum cost_what { COST_TIME, COST_CPU, COST_MEMORY, COST_BYTES, COST_WHATS };
/* In the place of processor time, of transfers to a host: what runs took there, for each 1000 alone here. */
#define COST_SLOW COST_CPU

/* Runs at one place. */
struct cost_runs {
	int64_t seen; /* when the last one ended */
	uint32_t runs, used; /* used: of which all is known */
	struct cost_value of[COST_WHATS];
};

struct cost_name {
	uint64_t key;
	uint64_t uid; /* no padding: it is hashed */
};

struct cost_entry {
	struct cost_name name;
	UT_hash_handle hh;
	TAILQ_ENTRY(cost_entry) link; /* of its user's, the last used last */
	struct cost_user *user;
	struct cost_runs at[COST_PLACES];
};

struct cost_host {
	uint64_t name; /* a hash; 0: unused */
	struct cost_runs to; /* transfers; `used`: runs there that were compared */
};

struct cost_user {
	uint32_t uid;
	UT_hash_handle hh;
	TAILQ_ENTRY(cost_user) link; /* the last used last */
	TAILQ_HEAD(cost_entries, cost_entry) entries;
	unsigned int count;
	struct cost_host hosts[COST_HOSTS];
};

struct cost_table {
	struct cost_entry *entries; /* hashes */
	struct cost_user *users;
	TAILQ_HEAD(cost_users, cost_user) order;
	unsigned int count, nusers;
};

/** Finds it, or makes room for it and adds it, as the one that was used last. NULL: out of memory. */
struct cost_user *cost_user_get(struct cost_table *table, uint32_t uid);
struct cost_entry *cost_entry_get(struct cost_table *table, struct cost_user *user, uint64_t key);
/** With all its programs. */
void cost_user_drop(struct cost_table *table, struct cost_user *user);
/** NULL: it is not there. */
struct cost_user *cost_user_find(const struct cost_table *table, uint32_t uid);
struct cost_entry *cost_entry_find(const struct cost_table *table, uint32_t uid, uint64_t key);

#endif
