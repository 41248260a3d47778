// SPDX-License-Identifier: GPL-2.0-or-later
#include "files.h"

#include <errno.h>
#include <stdlib.h>

int dag_files_begin(struct dag_files *files)
{
	*files = (struct dag_files){ .names = plan_names_new() };
	return files->names ? 0 : -ENOMEM;
}

void dag_files_end(struct dag_files *files)
{
	plan_names_free(files->names);
	free(files->uses);
}

int dag_files_use(struct dag_files *files, uint32_t task, const char *file, bool writes,
		  double bytes)
{
	int64_t number = plan_names_find(files->names, file);
	struct dag_use *more;

	if (number < 0)
		number = plan_names_add(files->names, file);
	if (number < 0)
		return number;
	more = plan_grow(files->uses, sizeof(*more), files->count, &files->room);
	if (!more)
		return -ENOMEM;
	files->uses = more;
	files->uses[files->count++] = (struct dag_use){ task, number, writes, bytes };
	return 0;
}

static int by_task(const void *a, const void *b)
{
	const struct dag_use *x = a, *y = b;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->writes != y->writes)
		return x->writes ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

/* The first use of this kind by a task, or where it would be. */
static size_t find_uses(const struct dag_files *files, uint32_t task, bool writes)
{
	struct dag_use wanted = { .task = task, .writes = writes };
	size_t low = 0, high = files->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_task(&files->uses[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_use(const struct dag_files *files, size_t at, uint32_t task, bool writes)
{
	return at < files->count && files->uses[at].task == task &&
	       files->uses[at].writes == writes;
}

int dag_files_weigh(struct dag_files *files, struct dag_draft *draft)
{
	if (files->count)
		qsort(files->uses, files->count, sizeof(*files->uses), by_task);
	for (uint32_t i = 0; i < draft->nedges; i++) {
		struct dag_edge *e = &draft->edges[i];
		size_t w = find_uses(files, e->from, true), r = find_uses(files, e->to, false);

		e->data = 0;
		/* both are sorted by file */
		while (is_use(files, w, e->from, true) && is_use(files, r, e->to, false)) {
			const struct dag_use *x = &files->uses[w], *y = &files->uses[r];

			if (x->file == y->file) {
				e->data += x->bytes;
				/* a file that is named twice counts once */
				while (is_use(files, r, e->to, false) &&
				       files->uses[r].file == x->file)
					r++;
				while (is_use(files, w + 1, e->from, true) &&
				       files->uses[w + 1].file == x->file)
					w++;
			}
			w += x->file <= y->file;
			r += x->file > y->file;
		}
		if (e->data > DAG_NUMBER_MAX)
			e->data = DAG_NUMBER_MAX;
	}
	return 0;
}
