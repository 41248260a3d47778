// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int process_look(pid_t pid, struct process *out)
{
	unsigned long long user, system, start;
	char name[32], text[1024], *at;
	long pages;
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ESRCH;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
	/* The name in brackets may have anything in it. */
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1,
			  " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %*s %*s %*s %*s "
			  "%*s %*s %llu %*s %ld",
			  &out->state, &user, &system, &start, &pages) != 5)
		return -ESRCH;
	out->cpu = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
	out->memory = (int64_t)pages * sysconf(_SC_PAGESIZE);
	out->start = start;
	return 0;
}
