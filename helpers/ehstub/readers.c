// SPDX-License-Identifier: GPL-2.0-or-later
/* Who else can read what a descriptor reads. It is looked for in /proc, once for a source at most. */
#include "stub.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READERS_ANCESTORS 64

static pid_t readers_parent(int proc, const char *pid)
{
	char text[512], *at;
	int dir, fd;
	ssize_t n;

	dir = openat(proc, pid, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = dir < 0 ? -1 : openat(dir, "stat", O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	/* "PID (NAME) STATE PARENT"; the name may have any character. */
	at = strrchr(text, ')');
	return at && strlen(at) > 4 ? atoi(at + 4) : 0;
}

static int readers_ancestors(int proc, pid_t all[READERS_ANCESTORS])
{
	char name[16];
	pid_t at = getpid();
	int n = 0;

	while (at > 0 && n < READERS_ANCESTORS) {
		all[n++] = at;
		descriptor_number(at, name);
		at = readers_parent(proc, name);
	}
	return n;
}

/* Whether one of the descriptors in this directory reads it. The link's mode says what they may. */
static bool readers_has(int process, const struct stat *it)
{
	int fds = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	struct stat st;
	bool has = false;
	DIR *dir;

	dir = fds < 0 ? NULL : fdopendir(fds);
	if (!dir) {
		if (fds >= 0)
			close(fds);
		return false; /* of another user */
	}
	while (!has && (entry = readdir(dir)))
		has = entry->d_name[0] != '.' && !fstatat(fds, entry->d_name, &st, 0) &&
		      st.st_dev == it->st_dev && st.st_ino == it->st_ino &&
		      !fstatat(fds, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) && st.st_mode & 0400;
	closedir(dir);
	return has;
}

bool readers_other(int fd, pid_t witness)
{
	pid_t mine[READERS_ANCESTORS + 1];
	struct dirent *entry;
	struct stat it;
	bool found = false;
	DIR *dir;
	int n;

	dir = fstat(fd, &it) ? NULL : opendir("/proc");
	if (!dir)
		return true;
	n = readers_ancestors(dirfd(dir), mine);
	/* It closes all, and may not have come to it yet. */
	mine[n++] = witness;
	while (!found && (entry = readdir(dir))) {
		pid_t pid = atoi(entry->d_name);
		int process, i = 0;

		while (i < n && mine[i] != pid)
			i++;
		if (pid <= 0 || i < n)
			continue;
		process = openat(dirfd(dir), entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (process < 0)
			continue;
		found = readers_has(process, &it);
		close(process);
	}
	closedir(dir);
	return found;
}
