// SPDX-License-Identifier: GPL-2.0-or-later
/* Other processes that can read what a descriptor reads, by /proc, once for a source at most. */
#include "readers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descriptor.h"
#include "helpers/common/number.h"
#include "helpers/end/text.h"

#define READERS_ANCESTORS 64
#define READERS_EXITING 4u /* PF_EXITING of the kernel's linux/sched.h */

/* Of /proc/PID/stat. */
struct reader {
	pid_t pid, parent;
	pid_t session; /* of our own: 0 if it cannot be looked at */
	bool exiting; /* it reads no more */
};

static bool readers_stat(int process, struct reader *r)
{
	char text[512], *at;

	if (text_read(process, "stat", text, sizeof(text)) <= 0)
		return false;
	/* "PID (NAME) STATE PARENT GROUP SESSION TTY ITS-GROUP FLAGS"; the name may have any character. */
	at = strrchr(text, ')');
	if (!at || strlen(at) <= 4)
		return false;
	r->parent = strtol(at + 4, &at, 10);
	strtol(at, &at, 10);
	r->session = strtol(at, &at, 10);
	strtol(at, &at, 10);
	strtol(at, &at, 10);
	r->exiting = strtoul(at, NULL, 10) & READERS_EXITING;
	return true;
}

static int readers_process(int proc, const char *pid)
{
	return openat(proc, pid, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* This process and all above it. Their number; 0: not all may be seen, so others hide, too (hidepid). */
static int readers_ancestors(int proc, struct reader all[READERS_ANCESTORS])
{
	pid_t at = getpid();
	char name[16];
	int n = 0;

	while (at > 0) {
		char root;
		int process;
		bool seen;

		if (n == READERS_ANCESTORS)
			return 0;
		number_text(at, name);
		process = readers_process(proc, name);
		seen = process >= 0 && readers_stat(process, &all[n]);
		/* Of the same user, too, it may have more rights: then "fd" can be listed, but no link be followed. */
		if (seen && readlinkat(process, "root", &root, 1) < 0)
			all[n].session = 0;
		if (process >= 0)
			close(process);
		if (!seen)
			return 0;
		all[n].pid = at;
		at = all[n++].parent;
	}
	return n;
}

/*
 * Whether a process that cannot be looked at may have the source. That was opened in a session of ours,
 * or handed down in it: only one that was started there has got it, such as sudo in the same pipeline.
 */
static bool readers_hides(int process, const struct reader *mine, int n)
{
	struct reader it;

	/* It has ended, or all but the user's own hide (hidepid). */
	if (!readers_stat(process, &it))
		return errno != ESRCH && errno != ENOENT;
	for (int i = 0; i < n && !it.exiting; i++)
		if (it.session && mine[i].session == it.session)
			return true;
	return false;
}

/* 1: one of the descriptors in this directory reads it, 0: none; -errno: a link could not be followed. */
static int readers_lists(DIR *dir, const struct stat *it)
{
	struct dirent *entry;
	struct stat st;
	int leads = 0;

	while (leads >= 0 && (entry = readdir(dir))) {
		leads = descriptor_leads(dir, entry, it);
		/* The link's mode says what they may. */
		if (leads > 0 && !fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    st.st_mode & 0400)
			return 1;
	}
	return leads < 0 ? leads : 0;
}

static bool readers_has(int process, const struct stat *it, const struct reader *mine, int n)
{
	int fds = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fds < 0 ? NULL : fdopendir(fds);
	int has;

	if (!dir) {
		if (fds >= 0)
			close(fds);
		return readers_hides(process, mine, n);
	}
	has = readers_lists(dir, it);
	closedir(dir);
	return has < 0 ? readers_hides(process, mine, n) : has;
}

/*
 * Whether an ancestor reads it, or may. One that may not be looked at, such as a sudo, is taken to have only what those
 * below it have, because they got it from there. A process between that has closed its own is not seen to have had it.
 */
static bool readers_above(int proc, const struct stat *it, const struct reader *mine, int n)
{
	bool apart = false, found = false;
	char name[16];

	for (int i = 1; i < n && !found; i++) {
		int process;

		if (apart && !mine[i].session)
			continue;
		number_text(mine[i].pid, name);
		process = readers_process(proc, name);
		if (process < 0)
			continue;
		found = readers_has(process, it, mine, n);
		close(process);
		apart |= mine[i].session != 0;
	}
	return found;
}

bool readers_other(int fd, pid_t witness, bool all)
{
	struct reader mine[READERS_ANCESTORS];
	struct dirent *entry;
	struct stat it;
	bool found = false;
	DIR *dir;
	int n;

	dir = fstat(fd, &it) ? NULL : opendir("/proc");
	if (!dir)
		return true;
	n = readers_ancestors(dirfd(dir), mine);
	found = !n || (all && readers_above(dirfd(dir), &it, mine, n));
	while (!found && (entry = readdir(dir))) {
		pid_t pid = atoi(entry->d_name);
		int process, i = 0;

		while (i < n && mine[i].pid != pid)
			i++;
		/* Its witness closes all, and may not have come to it yet. */
		if (pid <= 0 || i < n || pid == witness)
			continue;
		process = readers_process(dirfd(dir), entry->d_name);
		if (process < 0)
			continue;
		found = readers_has(process, &it, mine, n);
		close(process);
	}
	closedir(dir);
	return found;
}
