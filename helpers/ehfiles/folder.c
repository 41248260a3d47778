// SPDX-License-Identifier: GPL-2.0-or-later
/* Directories that the executor has numbered. The most recently used ones have a descriptor; others are opened
 * again by their path. */
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FOLDER_OPEN_MAX 512
#define FOLDER_DEPTH 2048 /* more is a loop */

static struct folder *folders;
/* Those with a descriptor; the one that was used last is the last. */
static TAILQ_HEAD(, folder) folder_used = TAILQ_HEAD_INITIALIZER(folder_used);
static unsigned int folder_opened;

static void folder_close(struct folder *f)
{
	if (f->fd < 0)
		return;
	TAILQ_REMOVE(&folder_used, f, opened);
	close(f->fd);
	f->fd = -1;
	folder_opened--;
}

struct folder *folder_find(uint64_t id)
{
	struct folder *f;

	HASH_FIND(hh, folders, &id, sizeof(id), f);
	return f;
}

static int folder_add(uint64_t id, uint64_t parent, const char *name, uint64_t ino)
{
	struct folder *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->name = strdup(name);
	if (!f->name) {
		free(f);
		return -ENOMEM;
	}
	f->id = id;
	f->parent = parent;
	f->ino = ino;
	f->fd = f->wd = -1;
	HASH_ADD(hh, folders, id, sizeof(f->id), f);
	return 0;
}

int folder_init(const char *path)
{
	return folder_add(FILES_ROOT, 0, path, 0);
}

int folder_know(const message *m)
{
	if (!m->name[0] || !folder_find(m->dir) || folder_find(m->offset))
		return -EPROTO;
	return folder_add(m->offset, m->dir, m->name, m->ino);
}

void folder_forget(struct folder *f)
{
	folder_close(f);
	HASH_DEL(folders, f);
	free(f->name);
	free(f);
}

int folder_openat(int dir, const char *name, int flags, mode_t mode)
{
	const struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.mode = mode,
		.resolve = RESOLVE_NO_XDEV,
	};
	int fd = syscall(SYS_openat2, dir, name, &how, sizeof(how));

	/* To a program EXDEV means that it should copy. */
	if (fd < 0 && errno == EXDEV)
		errno = EACCES;
	return fd;
}

static int folder_open(struct folder *f, unsigned int depth)
{
	struct folder *parent;
	struct stat st;
	int above = AT_FDCWD;

	if (f->fd >= 0) {
		TAILQ_REMOVE(&folder_used, f, opened);
		TAILQ_INSERT_TAIL(&folder_used, f, opened);
		return f->fd;
	}
	if (f->parent) {
		parent = folder_find(f->parent);
		above = parent && depth ? folder_open(parent, depth - 1) : -ESTALE;
		if (above < 0)
			return above;
	}
	f->fd = f->parent ? folder_openat(above, f->name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0)
			  : open(f->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->fd < 0)
		return -errno;
	if (f->ino && (fstat(f->fd, &st) || st.st_ino != f->ino)) {
		close(f->fd);
		f->fd = -1;
		return -ESTALE;
	}
	TAILQ_INSERT_TAIL(&folder_used, f, opened);
	if (++folder_opened > FOLDER_OPEN_MAX)
		folder_close(TAILQ_FIRST(&folder_used));
	return f->fd;
}

int folder_fd(struct folder *f)
{
	return folder_open(f, FOLDER_DEPTH);
}

int folder_fd_of(uint64_t id)
{
	struct folder *f = folder_find(id);

	return f ? folder_fd(f) : -ESTALE;
}

void folder_moved(uint64_t dir, const char *name, uint64_t to, const char *as)
{
	struct folder *f, *next;
	char *copy;

	HASH_ITER(hh, folders, f, next) {
		if (f->parent != dir || strcmp(f->name, name))
			continue;
		copy = strdup(as);
		if (!copy)
			continue; /* then it may not be found again */
		free(f->name);
		f->name = copy;
		f->parent = to;
	}
}
