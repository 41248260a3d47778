// SPDX-License-Identifier: GPL-2.0-or-later
#include "plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

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
		watch->ended = watch->now(watch->ctx) >= watch->until;
	return watch->ended;
}

void plan_watch_progress(const struct plan_watch *watch, const char *what, uint64_t done,
			 uint64_t all)
{
	if (watch && watch->progress)
		watch->progress(watch->ctx, what, done, all);
}
