// SPDX-License-Identifier: GPL-2.0-or-later
#include "helpers/end/open.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "job/message.h"

#define OPEN_MEMORY 1 /* major number of the devices of memory */

static const struct {
	int theirs;
	uint32_t ours;
} open_all[] = {
	{ O_APPEND, JOB_OPEN_APPEND }, { O_NONBLOCK, JOB_OPEN_NONBLOCK },
	{ O_SYNC, JOB_OPEN_SYNC },     { O_DSYNC, JOB_OPEN_DSYNC },
	{ O_DIRECT, JOB_OPEN_DIRECT }, { O_NOATIME, JOB_OPEN_NOATIME },
};
#define OPEN_ALL (sizeof(open_all) / sizeof(*open_all))

int open_above_2(int fd)
{
	int high;

	if (fd < 0 || fd > 2)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	close(fd);
	return high;
}

uint32_t open_flags(int fd)
{
	int mode = fcntl(fd, F_GETFL);
	uint32_t flags = 0;

	if (mode & O_PATH)
		return 0;
	flags |= (mode & O_ACCMODE) != O_WRONLY ? JOB_OPEN_READ : 0;
	flags |= (mode & O_ACCMODE) != O_RDONLY ? JOB_OPEN_WRITE : 0;
	for (size_t i = 0; i < OPEN_ALL; i++)
		if ((mode & open_all[i].theirs) == open_all[i].theirs)
			flags |= open_all[i].ours;
	/* Home's end does not ask for it. */
	return flags & ~JOB_OPEN_DIRECT;
}

int open_mode(uint32_t flags)
{
	const bool reads = flags & JOB_OPEN_READ, writes = flags & JOB_OPEN_WRITE;
	int mode = O_CLOEXEC | O_NOCTTY;

	mode |= reads && writes ? O_RDWR : writes ? O_WRONLY : O_RDONLY;
	for (size_t i = 0; i < OPEN_ALL; i++)
		if (flags & open_all[i].ours)
			mode |= open_all[i].theirs;
	return mode;
}

const char *open_device(uint64_t minor)
{
	static const char *const devices[] = { [3] = "/dev/null",
					       [5] = "/dev/zero",
					       [7] = "/dev/full",
					       [8] = "/dev/random",
					       [9] = "/dev/urandom" };

	return minor < sizeof(devices) / sizeof(*devices) ? devices[minor] : NULL;
}

bool open_is_device(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && major(st->st_rdev) == OPEN_MEMORY &&
	       open_device(minor(st->st_rdev));
}

uint32_t open_tokens(const struct job_file *files, uint32_t n, uint32_t way)
{
	uint32_t channel = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!(files[i].flags & JOB_OPEN_TOKENS) || !(files[i].flags & way) ||
		    files[i].kind != JOB_STREAM)
			continue;
		if (channel)
			return 0;
		channel = JOB_CHANNEL_FILES + i;
	}
	return channel;
}
