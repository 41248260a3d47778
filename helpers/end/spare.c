// SPDX-License-Identifier: GPL-2.0-or-later
#include "helpers/end/spare.h"

#include <sys/mman.h>

#define SPARE_PAGE 4096ul /* where pages are larger, memory is not given back */

void spare_bytes(uint8_t *bytes, size_t n)
{
	const size_t before = -(uintptr_t)bytes % SPARE_PAGE;

	if (n > before && (n - before) / SPARE_PAGE)
		madvise(bytes + before, (n - before) & -SPARE_PAGE, MADV_DONTNEED);
}

void spare_link(const struct job_link *l)
{
	size_t from = l->head % l->size, to = l->tail % l->size;

	if (from < to || l->head - l->tail == l->size) {
		spare_bytes(l->memory + from, to - from);
		return;
	}
	spare_bytes(l->memory + from, l->size - from);
	spare_bytes(l->memory, to);
}
