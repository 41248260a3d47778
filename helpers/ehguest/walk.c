// SPDX-License-Identifier: GPL-2.0-or-later
#include "walk.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WALK_DEPTH 64 /* of descendants */

struct walk {
	walk_thread *see;
	void *ctx;
};

static bool walk_children(const struct walk *w, long pid, long tid, int depth);

static bool walk_process(const struct walk *w, long pid, int depth)
{
	struct dirent *entry;
	bool enough = false;
	char folder[32];
	DIR *dir;

	snprintf(folder, sizeof(folder), "/proc/%ld/task", pid);
	dir = opendir(folder);
	if (!dir)
		return false; /* it has just ended */
	while (!enough && (entry = readdir(dir))) {
		long tid = strtol(entry->d_name, NULL, 10);

		if (tid <= 0)
			continue;
		/* This process itself is none of them. */
		enough = (depth && w->see(w->ctx, pid, tid)) || walk_children(w, pid, tid, depth);
	}
	closedir(dir);
	return enough;
}

static bool walk_children(const struct walk *w, long pid, long tid, int depth)
{
	bool enough = false;
	char name[80];
	long child;
	FILE *f;

	if (depth == WALK_DEPTH)
		return w->see(w->ctx, 0, 0);
	snprintf(name, sizeof(name), "/proc/%ld/task/%ld/children", pid, tid);
	f = fopen(name, "re");
	/* Kernels without this file: it may have children. */
	if (!f) {
		snprintf(name, sizeof(name), "/proc/%ld/task/%ld", pid, tid);
		return !access(name, F_OK) && w->see(w->ctx, 0, 0);
	}
	while (!enough && fscanf(f, "%ld", &child) == 1)
		enough = walk_process(w, child, depth + 1);
	fclose(f);
	return enough;
}

bool walk_descendants(walk_thread *see, void *ctx)
{
	const struct walk w = { .see = see, .ctx = ctx };

	return walk_process(&w, getpid(), 0);
}
