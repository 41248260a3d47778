// SPDX-License-Identifier: GPL-2.0-or-later
#include "input.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define INPUT_DEPTH 64 /* of descendants; deeper ones count as waiting */

static size_t input_children(const struct input_source *s, long pid, long tid, int depth);

static size_t input_process(const struct input_source *s, long pid, int depth)
{
	struct dirent *entry;
	size_t wanted = 0;
	char folder[32];
	DIR *dir;

	snprintf(folder, sizeof(folder), "/proc/%ld/task", pid);
	dir = opendir(folder);
	if (!dir)
		return 0; /* it has just ended */
	while (!wanted && (entry = readdir(dir))) {
		long tid = strtol(entry->d_name, NULL, 10);

		if (tid <= 0)
			continue;
		/* This process itself does not read. */
		if (depth)
			wanted = input_thread(s, pid, tid);
		if (!wanted)
			wanted = input_children(s, pid, tid, depth);
	}
	closedir(dir);
	return wanted;
}

static size_t input_children(const struct input_source *s, long pid, long tid, int depth)
{
	char name[80], text[256];
	size_t wanted = 0;
	long child = 0;
	ssize_t n;
	int fd;

	if (depth == INPUT_DEPTH)
		return s->unknown;
	snprintf(name, sizeof(name), "/proc/%ld/task/%ld/children", pid, tid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	/* Kernels without this file: it may wait. */
	if (fd < 0) {
		snprintf(name, sizeof(name), "/proc/%ld/task/%ld", pid, tid);
		return access(name, F_OK) ? 0 : s->unknown;
	}
	while (!wanted && (n = read(fd, text, sizeof(text))) > 0) {
		/* Each number is followed by a space, perhaps in the next piece. */
		for (ssize_t i = 0; i < n && !wanted; i++) {
			if (isdigit((unsigned char)text[i])) {
				child = child * 10 + text[i] - '0';
			} else if (child) {
				wanted = input_process(s, child, depth + 1);
				child = 0;
			}
		}
	}
	close(fd);
	return wanted;
}

size_t input_wanted(const struct input_source *source)
{
	return input_process(source, getpid(), 0);
}
