// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config.h"

bool keep_path(const struct config *c, const char *name, char path[PATH_MAX])
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", c->state);
	return snprintf(path, PATH_MAX, "%s/%s", dirname(folder), name) < PATH_MAX;
}

static int keep_fill(const char *path, const char *text, bool sync)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	ssize_t length = strlen(text);
	int err = 0;

	if (fd < 0)
		return -errno;
	errno = EIO;
	if (write(fd, text, length) != length || (sync && fsync(fd)))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* The new name, too, must be on disk. */
static int keep_sync(char *path)
{
	int fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = fsync(fd) ? -errno : 0;
	close(fd);
	return err;
}

static int keep_replace(const struct config *c, const char *name, const char *text, bool sync)
{
	char path[PATH_MAX], work[PATH_MAX], folder[PATH_MAX];
	int err;

	if (!keep_path(c, name, path) || snprintf(work, sizeof(work), "%s.new", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	snprintf(folder, sizeof(folder), "%s", path);
	mkdir(dirname(folder), 0755);
	err = keep_fill(work, text, sync);
	if (!err && rename(work, path))
		err = -errno;
	if (err)
		unlink(work);
	return err || !sync ? err : keep_sync(path);
}

int keep_write(const struct config *c, const char *name, const char *text)
{
	return keep_replace(c, name, text, true);
}

int keep_note(const struct config *c, const char *name, const char *text)
{
	return keep_replace(c, name, text, false);
}

char *keep_read(const struct config *c, const char *name, size_t most)
{
	char path[PATH_MAX], *text = NULL;
	ssize_t n = -1;
	int fd, err;

	errno = ENAMETOOLONG;
	fd = keep_path(c, name, path) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	if (fd < 0)
		return NULL;
	text = malloc(most + 2);
	if (text)
		n = read(fd, text, most + 1);
	err = errno;
	close(fd);
	if (n >= 0 && (size_t)n <= most) {
		text[n] = '\0';
		return text;
	}
	free(text);
	errno = n > 0 ? EFBIG : err;
	return NULL;
}
