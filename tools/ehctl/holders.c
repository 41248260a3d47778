// SPDX-License-Identifier: GPL-2.0-or-later
#include "holders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eh/tokens.h"

#define HOLDERS_TREE 65536 /* processes of one build that are looked at */

/* What leads to its tokens; the second one is empty for a FIFO. */
struct pipes {
	char names[2][PATH_MAX];
};

/* What /proc/PID/stat says. */
struct holder {
	char name[32], state;
	unsigned int threads, children;
};

/* Reads a file of /proc/PID. Its bytes, or -1; room for a final 0 is kept. */
static ssize_t read_of(pid_t pid, const char *file, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, size - 1);
	close(fd);
	if (n >= 0)
		text[n] = '\0';
	return n;
}

/* Its children, appended to the list, if there is one. False: that cannot be said. */
static bool children_of(pid_t pid, unsigned int *count, pid_t *list, size_t *n)
{
	char path[64], number[16];
	size_t length = 0;
	FILE *file;
	int c;

	*count = 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	file = fopen(path, "re");
	if (!file)
		return kill(pid, 0) && errno == ESRCH;
	while ((c = getc(file)) != EOF) {
		if (c != ' ' && length < sizeof(number) - 1) {
			number[length++] = (char)c;
			continue;
		}
		number[length] = '\0';
		length = 0;
		(*count)++;
		if (list && *n < HOLDERS_TREE)
			list[(*n)++] = (pid_t)strtol(number, NULL, 10);
	}
	fclose(file);
	return !list || *n < HOLDERS_TREE;
}

static bool look_at(pid_t pid, struct holder *h)
{
	char text[512], *at;

	if (read_of(pid, "stat", text, sizeof(text)) <= 0)
		return false;
	at = strrchr(text, ')');
	if (!at ||
	    sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u",
		   &h->state, &h->threads) != 2)
		return false;
	*at = '\0';
	at = strchr(text, '(');
	snprintf(h->name, sizeof(h->name), "%s", at ? at + 1 : "");
	return true;
}

/* Whether a pipe is among its descriptors. -1: it may not be looked at. */
static int has_open(pid_t pid, const struct pipes *pipes)
{
	char path[64], target[PATH_MAX];
	struct dirent *entry;
	int found = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT || errno == ESRCH ? 0 : -1;
	while (!found && (entry = readdir(dir))) {
		const ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		if (n < 0)
			continue;
		target[n] = '\0';
		found = !strcmp(target, pipes->names[0]) || !strcmp(target, pipes->names[1]);
	}
	closedir(dir);
	return found;
}

/* With -l a make keeps tokens while it waits for a lower load. */
static bool waits_for_load(pid_t pid)
{
	char text[32768];
	ssize_t n = read_of(pid, "cmdline", text, sizeof(text));

	for (const char *at = text; n > 0 && at < text + n; at += strlen(at) + 1)
		if (at != text && (!strncmp(at, "-l", 2) || !strncmp(at, "--load", 6) ||
				   !strncmp(at, "--max-load", 10)))
			return true;
	n = read_of(pid, "environ", text, sizeof(text));
	for (const char *at = text; n > 0 && at < text + n; at += strlen(at) + 1) {
		if (strncmp(at, "MAKEFLAGS=", 10))
			continue;
		return strstr(at, " -l") || strstr(at, "-load");
	}
	return false;
}

/* The most that this process may have; EH_TOKENS_UNKNOWN: any number. */
static unsigned int most_of(pid_t pid, const struct pipes *pipes)
{
	const int open = has_open(pid, pipes);
	struct holder h;

	if (!open || (open < 0 && getsid(pid) != getsid(0)))
		return 0;
	if (open < 0)
		return EH_TOKENS_UNKNOWN;
	if (!look_at(pid, &h))
		return 0; /* it has just ended */
	if (h.state == 'Z' || h.state == 'X')
		return 0;
	/* One that was stopped may have taken a token for a job that it has not started. */
	if (h.state == 'T' || h.state == 't' || !strcmp(h.name, "ehstub") ||
	    !children_of(pid, &h.children, NULL, NULL))
		return EH_TOKENS_UNKNOWN;
	if (strcmp(h.name, "make") && strcmp(h.name, "gmake"))
		return h.children + h.threads;
	if (waits_for_load(pid))
		return EH_TOKENS_UNKNOWN;
	return h.children ? h.children - 1 : 0;
}

/* The command and all below it: what a build mostly is. */
static unsigned int most_below(pid_t command, const struct pipes *pipes)
{
	pid_t *list = malloc(HOLDERS_TREE * sizeof(*list));
	unsigned int sum = 0, children;
	size_t n = 0;

	if (!list)
		return EH_TOKENS_UNKNOWN;
	list[n++] = command;
	for (size_t i = 0; i < n && sum != EH_TOKENS_UNKNOWN; i++) {
		const unsigned int most = most_of(list[i], pipes);

		sum = most == EH_TOKENS_UNKNOWN ? most : sum + most;
		if (!children_of(list[i], &children, list, &n))
			sum = EH_TOKENS_UNKNOWN;
	}
	free(list);
	return sum;
}

/* All processes: some may have left the tree. */
static unsigned int most_of_all(pid_t relay, const struct pipes *pipes)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	unsigned int sum = 0;

	if (!dir)
		return EH_TOKENS_UNKNOWN;
	while (sum != EH_TOKENS_UNKNOWN && (entry = readdir(dir))) {
		const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		const bool other = pid > 0 && pid != getpid() && pid != relay;
		const unsigned int most = other ? most_of(pid, pipes) : 0;

		sum = most == EH_TOKENS_UNKNOWN ? most : sum + most;
	}
	closedir(dir);
	return sum;
}

static bool name_pipe(int fd, char *name, size_t size)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	snprintf(name, size, "pipe:[%llu]", (unsigned long long)st.st_ino);
	return true;
}

unsigned int holders_most(const struct tokens *t, pid_t command, pid_t relay, unsigned int taken)
{
	struct pipes pipes = { .names[1] = "" };
	unsigned int most;

	if (*t->path)
		snprintf(pipes.names[0], sizeof(pipes.names[0]), "%s", t->path);
	else if (!name_pipe(t->read, pipes.names[0], sizeof(pipes.names[0])) ||
		 !name_pipe(t->back, pipes.names[1], sizeof(pipes.names[1])))
		return EH_TOKENS_UNKNOWN;
	most = most_below(command, &pipes);
	/* Looking at all costs more, and is done only if one seems to be missing. */
	return most >= taken ? most : most_of_all(relay, &pipes);
}
