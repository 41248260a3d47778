// SPDX-License-Identifier: GPL-2.0-or-later
#include "oom.h"

#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

unsigned int oom_until;

static int oom_fails(void)
{
	return oom_until && !--oom_until;
}

void *__wrap_malloc(size_t size)
{
	return oom_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return oom_fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return oom_fails() ? NULL : __real_realloc(old, size);
}
