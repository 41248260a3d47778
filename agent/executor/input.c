// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The master of a terminal is not told when its slave is read. The system calls that a guest's
 * processes wait in show it: a reader waits in read(), or in poll() and the like.
 */

#include "executor/input.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INPUT_DEPTH 64 /* of descendants; deeper ones count as waiting */

static bool input_call(long number)
{
	switch (number) {
	case SYS_read:
	case SYS_readv:
	case SYS_pselect6:
	case SYS_ppoll:
	case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
#ifdef SYS_select
	case SYS_select:
	case SYS_poll:
	case SYS_epoll_wait:
#endif
	case SYS_splice:
	case SYS_sendfile:
	case SYS_io_uring_enter:
		return true;
	default:
		return false;
	}
}

/* The line is "NUMBER ARGUMENTS… SP PC", "running", or "-1 SP PC" outside system calls. */
static bool input_thread_waits(const char *thread)
{
	char name[80], text[256], *end;
	unsigned long long sp;
	long number;
	FILE *f;

	snprintf(name, sizeof(name), "%s/syscall", thread);
	f = fopen(name, "re");
	if (!f)
		return !access(thread, F_OK);
	end = fgets(text, sizeof(text), f);
	fclose(f);
	if (!end)
		return !access(thread, F_OK);
	number = strtol(text, &end, 10);
	if (end == text || number < 0)
		return false;
	if (input_call(number))
		return true;
	/* 32-bit programs use other call numbers; their stack is below 4 GiB. */
	end = strrchr(text, ' ');
	if (!end)
		return true;
	*end = '\0';
	end = strrchr(text, ' ');
	sp = end ? strtoull(end, NULL, 16) : 0;
	return sp <= UINT32_MAX;
}

static bool input_children(const char *thread, int depth);

static bool input_process(long pid, int depth)
{
	char folder[32], thread[64];
	struct dirent *entry;
	bool waits = false;
	DIR *dir;

	snprintf(folder, sizeof(folder), "/proc/%ld/task", pid);
	dir = opendir(folder);
	if (!dir)
		return false; /* it has just ended */
	while (!waits && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(thread, sizeof(thread), "%s/%.16s", folder, entry->d_name);
		/* the leader itself does not read the terminal */
		waits = (depth && input_thread_waits(thread)) || input_children(thread, depth);
	}
	closedir(dir);
	return waits;
}

static bool input_children(const char *thread, int depth)
{
	char name[80];
	bool waits = false;
	long pid;
	FILE *f;

	if (depth == INPUT_DEPTH)
		return true;
	snprintf(name, sizeof(name), "%s/children", thread);
	f = fopen(name, "re");
	/* Kernels without this file: it may wait. */
	if (!f)
		return !access(thread, F_OK);
	while (!waits && fscanf(f, "%ld", &pid) == 1)
		waits = input_process(pid, depth + 1);
	fclose(f);
	return waits;
}

bool input_waits(pid_t ancestor)
{
	return input_process(ancestor, 0);
}
