// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Takes over the descriptor of /proc/PID/stat. */
static int process_read(int fd, struct process *out)
{
	unsigned long long user, system, start;
	char text[1024], *at;
	long pages;
	ssize_t n;

	if (fd < 0)
		return -ESRCH;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
	/* The name in brackets may have anything in it. */
	at = strrchr(text, ')');
	if (!at ||
	    sscanf(at + 1,
		   " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %*s %*s %*s %d %*s "
		   "%*s %llu %*s %ld",
		   &out->state, &user, &system, &out->nice, &start, &pages) != 6)
		return -ESRCH;
	out->cpu = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
	out->memory = (int64_t)pages * sysconf(_SC_PAGESIZE);
	out->start = start;
	return 0;
}

int process_look(pid_t pid, struct process *out)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	return process_read(open(name, O_RDONLY | O_CLOEXEC), out);
}

int process_look_at(int proc, struct process *out)
{
	return process_read(openat(proc, "stat", O_RDONLY | O_CLOEXEC), out);
}

FILE *process_open(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f && fd >= 0)
		close(fd);
	return f;
}
