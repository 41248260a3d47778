// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files that home has open, and that are the same here: the program has them itself. This process has the
 * same open files, and tells home of the offset and the lock that the program leaves.
 */
#include "real.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "helpers/end/open.h"
#include "helpers/end/place.h"

int real_device(const struct job_file *f)
{
	const char *path = open_device(f->ino);
	struct stat st;
	int fd;

	if (!path)
		return -ENXIO;
	fd = open(path, open_mode(f->flags));
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && open_is_device(&st) && minor(st.st_rdev) == f->ino)
		return fd;
	close(fd);
	return -ENXIO;
}

/* 0: it is the file that home has; -EXDEV. `fd` is O_PATH. */
static int real_compare(int fd, const struct job_file *f)
{
	char place[PLACE_MAX];
	struct stat st;

	if (fstat(fd, &st) || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) ||
	    st.st_ino != f->ino || place_of(fd, place))
		return -EXDEV;
	if (place_is_view(place))
		return 0;
	if (f->flags & JOB_OPEN_HERE && !place_is_local(place))
		return -EXDEV;
	return strcmp(place, f->place) ? -EXDEV : 0;
}

int real_open(struct reals *all, const struct job_file *f, uint32_t channel)
{
	struct real *r = &all->all[all->n];
	char name[40];
	int path, fd, ours, err;

	path = open(f->path, O_PATH | O_CLOEXEC);
	if (path < 0)
		return errno == ENOENT || errno == ENOTDIR ? -EXDEV : -errno;
	err = real_compare(path, f);
	if (err)
		goto close_path;
	/* What was compared, and nothing that has its name now. */
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path);
	fd = open(name, open_mode(f->flags));
	err = -errno;
	if (fd < 0)
		goto close_path;
	close(path);
	ours = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (ours < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	lseek(fd, f->offset, SEEK_SET); /* a directory has none that home knows */
	*r = (struct real){ .fd = ours, .channel = channel, .offset = f->offset };
	all->n++;
	return fd;
close_path:
	close(path);
	return err;
}

void real_say(struct reals *all)
{
	for (unsigned int i = 0; i < all->n; i++) {
		const struct job_message m = { .what = JOB_OPENED, .channel = all->all[i].channel };

		if (!all->all[i].told)
			job_end_say(&all->session->end, &m);
		all->all[i].told = true;
	}
}

void real_tell(struct reals *all)
{
	for (unsigned int i = 0; i < all->n; i++) {
		struct real *r = &all->all[i];
		struct job_message m = { .what = JOB_SEEK, .channel = r->channel };
		off_t now = r->fd < 0 ? -1 : lseek(r->fd, 0, SEEK_CUR);

		if (now < 0 || now == r->offset)
			continue;
		r->offset = m.offset = now;
		job_end_say(&all->session->end, &m);
	}
}

/* LOCK_SH or LOCK_EX, that this open file has; 0: none. */
static int real_lock(const struct real *r)
{
	char name[48], line[256];
	int lock = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", r->fd);
	f = fopen(name, "re");
	if (!f)
		return 0;
	while (!lock && fgets(line, sizeof(line), f))
		if (!strncmp(line, "lock:", 5) && strstr(line, "FLOCK"))
			lock = strstr(line, "WRITE") ? LOCK_EX : LOCK_SH;
	fclose(f);
	return lock;
}

void real_exited(struct reals *all)
{
	for (unsigned int i = 0; i < all->n; i++) {
		struct job_message m = { .what = JOB_LOCK, .channel = all->all[i].channel };
		const int lock = real_lock(&all->all[i]);

		if (!lock)
			continue;
		/* Home's open file is another one. */
		flock(all->all[i].fd, LOCK_UN);
		m.exclusive = lock == LOCK_EX;
		job_end_say(&all->session->end, &m);
	}
}
