// SPDX-License-Identifier: GPL-2.0-or-later
#include "names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "plan/plan.h"

struct name {
	UT_hash_handle hh;
	uint32_t number;
	char text[];
};

struct plan_names {
	struct name *hash, **list;
	uint32_t count;
	size_t room;
};

struct plan_names *plan_names_new(void)
{
	return calloc(1, sizeof(struct plan_names));
}

void plan_names_free(struct plan_names *names)
{
	if (!names)
		return;
	HASH_CLEAR(hh, names->hash);
	for (uint32_t i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names->list);
	free(names);
}

int64_t plan_names_add(struct plan_names *names, const char *text)
{
	size_t length = strlen(text);
	struct name *name, **list;

	if (plan_names_find(names, text) >= 0)
		return -EEXIST;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	list = plan_grow(names->list, sizeof(*list), names->count, &names->room);
	if (!list)
		return -ENOMEM;
	names->list = list;
	name = calloc(1, sizeof(*name) + length + 1);
	if (!name)
		return -ENOMEM;
	memcpy(name->text, text, length + 1);
	name->number = names->count;
	HASH_ADD_KEYPTR(hh, names->hash, name->text, length, name);
	/* the hash leaves out an entry that it has no memory for */
	if (!name->hh.tbl) {
		free(name);
		return -ENOMEM;
	}
	names->list[names->count] = name;
	return names->count++;
}

int64_t plan_names_find(const struct plan_names *names, const char *text)
{
	struct name *name;

	HASH_FIND(hh, names->hash, text, strlen(text), name);
	return name ? (int64_t)name->number : -ENOENT;
}

const char *plan_names_text(const struct plan_names *names, uint32_t number)
{
	return names->list[number]->text;
}

uint32_t plan_names_count(const struct plan_names *names)
{
	return names->count;
}
