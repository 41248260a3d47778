// SPDX-License-Identifier: GPL-2.0-or-later
#include "input.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define INPUT_DEPTH 64 /* of descendants; it is not known whether deeper ones wait */

/* How much one reads that is seen to: nobody else needs to be looked at. */
static bool input_known(const struct input_wish *w)
{
	return w->bytes && !w->unsure;
}

static void input_add(struct input_wish *w, struct input_wish one)
{
	if (input_known(&one)) {
		*w = one;
		return;
	}
	w->unsure |= one.unsure;
	if (w->bytes < one.bytes)
		w->bytes = one.bytes;
}

static void input_children(const struct input_source *s, long pid, long tid, int depth,
			   struct input_wish *w);

static void input_process(const struct input_source *s, long pid, int depth, struct input_wish *w)
{
	struct dirent *entry;
	char folder[32];
	DIR *dir;

	snprintf(folder, sizeof(folder), "/proc/%ld/task", pid);
	dir = opendir(folder);
	if (!dir)
		return; /* it has just ended */
	while (!input_known(w) && (entry = readdir(dir))) {
		long tid = strtol(entry->d_name, NULL, 10);

		if (tid <= 0)
			continue;
		/* This process itself does not read. */
		if (depth)
			input_add(w, input_thread(s, pid, tid));
		if (!input_known(w))
			input_children(s, pid, tid, depth, w);
	}
	closedir(dir);
}

static void input_children(const struct input_source *s, long pid, long tid, int depth,
			   struct input_wish *w)
{
	const struct input_wish unknown = { .unsure = true };
	char name[80], text[256];
	long child = 0;
	ssize_t n;
	int fd;

	if (depth == INPUT_DEPTH) {
		input_add(w, unknown);
		return;
	}
	snprintf(name, sizeof(name), "/proc/%ld/task/%ld/children", pid, tid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	/* Kernels without this file: it may have children that wait. */
	if (fd < 0) {
		snprintf(name, sizeof(name), "/proc/%ld/task/%ld", pid, tid);
		if (!access(name, F_OK))
			input_add(w, unknown);
		return;
	}
	while (!input_known(w) && (n = read(fd, text, sizeof(text))) > 0) {
		/* Each number is followed by a space, perhaps in the next piece. */
		for (ssize_t i = 0; i < n && !input_known(w); i++) {
			if (isdigit((unsigned char)text[i])) {
				child = child * 10 + text[i] - '0';
			} else if (child) {
				input_process(s, child, depth + 1, w);
				child = 0;
			}
		}
	}
	close(fd);
}

struct input_wish input_wanted(const struct input_source *source)
{
	struct input_wish wish = { 0 };

	input_process(source, getpid(), 0, &wish);
	return wish;
}
