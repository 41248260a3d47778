// SPDX-License-Identifier: GPL-2.0-or-later
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ehcert.h"

#define FILES_LARGEST 65536 /* bytes of a file that is read */

static int files_path(char *path, size_t size, const char *dir, const char *name, const char *after)
{
	if ((size_t)snprintf(path, size, "%s/%s%s", dir, name, after) < size)
		return 0;
	return fail(EXIT_REFUSED, "%s/%s: %s", dir, name, strerror(ENAMETOOLONG));
}

int files_begin(struct files *files, const char *dir)
{
	char path[4096];
	struct stat st;

	memset(files, 0, sizeof(*files));
	files->dir = dir;
	if ((size_t)snprintf(path, sizeof(path), "%s", dir) >= sizeof(path))
		return fail(EXIT_REFUSED, "%s: %s", dir, strerror(ENAMETOOLONG));
	for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			goto failed;
		*slash = '/';
	}
	files->made = !mkdir(path, 0755);
	if ((!files->made && errno != EEXIST) || stat(path, &st))
		goto failed;
	if (S_ISDIR(st.st_mode))
		return 0;
	errno = ENOTDIR;
failed:
	return fail(EXIT_REFUSED, "%s: cannot create the directory: %s", path, strerror(errno));
}

void files_share(struct files *files)
{
	const struct group *agents = geteuid() ? NULL : getgrnam("ehsched");

	if (!agents)
		return;
	files->group = agents->gr_gid;
	files->shared = true;
	if (files->made && (chown(files->dir, -1, files->group) || chmod(files->dir, 0750)))
		fail(0, "%s: user ehsched cannot look into it: %s", files->dir, strerror(errno));
}

int files_fresh(const struct files *files, const char *name)
{
	char path[4096];
	struct stat st;

	if (files_path(path, sizeof(path), files->dir, name, ""))
		return EXIT_REFUSED;
	if (lstat(path, &st))
		return errno == ENOENT ? 0 : fail(EXIT_REFUSED, "%s: %s", path, strerror(errno));
	return fail(EXIT_REFUSED, "%s already exists: remove it first to create a new one", path);
}

static int files_fill(int fd, const char *text, const struct files *files, bool secret)
{
	size_t length = strlen(text);
	mode_t mode = !secret ? 0644 : files->shared ? 0640 : 0600;
	ssize_t n;

	if (secret && files->shared && fchown(fd, -1, files->group))
		return -1;
	if (fchmod(fd, mode))
		return -1;
	n = write(fd, text, length);
	if (n != (ssize_t)length) {
		if (n >= 0)
			errno = EIO;
		return -1;
	}
	return fsync(fd);
}

int files_write(struct files *files, const char *name, const char *text, bool secret)
{
	char path[4096], work[4096];
	int fd, err;

	if (files_path(path, sizeof(path), files->dir, name, "") ||
	    files_path(work, sizeof(work), files->dir, name, ".XXXXXX"))
		return EXIT_REFUSED;
	fd = mkostemp(work, O_CLOEXEC);
	if (fd < 0)
		return fail(EXIT_REFUSED, "%s: cannot create it: %s", path, strerror(errno));
	err = files_fill(fd, text, files, secret) ? errno : 0;
	if (close(fd) && !err)
		err = errno;
	/* a link, not a rename: what has come there meanwhile stays */
	if (!err && link(work, path))
		err = errno;
	unlink(work);
	if (err)
		return fail(EXIT_REFUSED, "%s: cannot write it: %s", path, strerror(err));
	if (files->count < FILES_MAX)
		snprintf(files->names[files->count++], sizeof(files->names[0]), "%s", name);
	return 0;
}

int files_undo(struct files *files, int code)
{
	char path[4096];

	while (files->count) {
		snprintf(path, sizeof(path), "%s/%s", files->dir, files->names[--files->count]);
		unlink(path);
	}
	return code;
}

char *files_read(const char *dir, const char *name, size_t *length)
{
	char path[4096], *text;
	ssize_t n = -1;
	int fd;

	if (files_path(path, sizeof(path), dir, name, ""))
		return NULL;
	text = malloc(FILES_LARGEST);
	fd = text ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		n = read(fd, text, FILES_LARGEST - 1);
		close(fd);
	}
	if (n < 0) {
		fail(0, "%s: %s", path, strerror(errno));
		free(text);
		return NULL;
	}
	text[n] = '\0';
	*length = n;
	return text;
}
