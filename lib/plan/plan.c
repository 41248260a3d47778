// SPDX-License-Identifier: GPL-2.0-or-later
#include "plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define GROW_BEGIN 16

int plan_refuse(struct plan_refusal *refusal, size_t line, const char *where, const char *format,
		...)
{
	va_list args;

	refusal->line = line;
	snprintf(refusal->where, sizeof(refusal->where), "%s", where ? where : "");
	va_start(args, format);
	vsnprintf(refusal->what, sizeof(refusal->what), format, args);
	va_end(args);
	return -EINVAL;
}

bool plan_watch_over(struct plan_watch *watch)
{
	if (!watch || !watch->now || watch->until <= 0)
		return false;
	if (!watch->ended)
		watch->ended = watch->now() >= watch->until;
	return watch->ended;
}

void plan_watch_progress(const struct plan_watch *watch, const char *what, uint64_t done,
			 uint64_t all)
{
	if (watch && watch->progress)
		watch->progress(watch->ctx, what, done, all);
}

void *plan_grow(void *array, size_t each, size_t count, size_t *room)
{
	size_t more = *room ? 2 * *room : GROW_BEGIN;
	void *grown;

	if (count < *room)
		return array;
	grown = realloc(array, more * each);
	if (grown)
		*room = more;
	return grown;
}
