/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocations that fail by number. For the programs linked with --wrap for the allocators: one file of each includes this. */
#ifndef SELFTESTS_UNIT_OOM_H
#define SELFTESTS_UNIT_OOM_H

#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static unsigned int until; /* the allocation to fail, counted down; 0: none does */

static int fails(void)
{
	return until && !--until;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

#endif
