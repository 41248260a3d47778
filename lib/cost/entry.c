// SPDX-License-Identifier: GPL-2.0-or-later
#include "cost/entry.h"

#include <stdlib.h>

static void cost_entry_drop(struct cost_table *t, struct cost_entry *e)
{
	TAILQ_REMOVE(&e->user->entries, e, link);
	e->user->count--;
	t->count--;
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): clang does not follow the links of uthash */
	HASH_DEL(t->entries, e);
	free(e);
}

void cost_user_drop(struct cost_table *t, struct cost_user *u)
{
	struct cost_entry *e;

	while ((e = TAILQ_FIRST(&u->entries)))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list of e->user, which is u */
		cost_entry_drop(t, e);
	TAILQ_REMOVE(&t->order, u, link);
	t->nusers--;
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): clang does not follow the links of uthash */
	HASH_DEL(t->users, u);
	free(u);
}

struct cost_user *cost_user_find(const struct cost_table *t, uint32_t uid)
{
	struct cost_user *u;

	HASH_FIND(hh, t->users, &uid, sizeof(uid), u);
	return u;
}

struct cost_user *cost_user_get(struct cost_table *t, uint32_t uid)
{
	struct cost_user *u = cost_user_find(t, uid);

	if (u) {
		TAILQ_REMOVE(&t->order, u, link);
		TAILQ_INSERT_TAIL(&t->order, u, link);
		return u;
	}
	if (t->nusers == COST_USERS)
		cost_user_drop(t, TAILQ_FIRST(&t->order));
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->uid = uid;
	TAILQ_INIT(&u->entries);
	HASH_ADD(hh, t->users, uid, sizeof(u->uid), u);
	if (!u->hh.tbl) {
		free(u);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&t->order, u, link);
	t->nusers++;
	return u;
}

struct cost_entry *cost_entry_find(const struct cost_table *t, uint32_t uid, uint64_t key)
{
	const struct cost_name name = { .key = key, .uid = uid };
	struct cost_entry *e;

	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): both members are set, and there is no padding */
	HASH_FIND(hh, t->entries, &name, sizeof(name), e);
	return e;
}

/* For one more of `user`, whose it is if nobody has more. */
static void cost_make_room(struct cost_table *t, const struct cost_user *user)
{
	const struct cost_user *most = user, *u;

	TAILQ_FOREACH(u, &t->order, link)
		if (u->count > most->count)
			most = u;
	cost_entry_drop(t, TAILQ_FIRST(&most->entries));
}

struct cost_entry *cost_entry_get(struct cost_table *t, struct cost_user *user, uint64_t key)
{
	struct cost_entry *e = cost_entry_find(t, user->uid, key);

	if (e) {
		TAILQ_REMOVE(&user->entries, e, link);
		TAILQ_INSERT_TAIL(&user->entries, e, link);
		return e;
	}
	if (t->count == COST_ENTRIES)
		cost_make_room(t, user);
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->name = (struct cost_name){ .key = key, .uid = user->uid };
	e->user = user;
	HASH_ADD(hh, t->entries, name, sizeof(e->name), e);
	if (!e->hh.tbl) {
		free(e);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&user->entries, e, link);
	user->count++;
	t->count++;
	return e;
}
