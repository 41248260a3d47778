// SPDX-License-Identifier: GPL-2.0-or-later
#include "ref.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "folder.h"
#include "handle.h"
#include "wire/view.h"

/* A file, with O_PATH. One that is mounted has no server of its own: it is found here. */
static int ref_openat(int dir, const char *name)
{
	int fd = folder_openat(dir, name, O_PATH | O_NOFOLLOW, 0);
	struct statfs fs;
	struct stat st;

	if (fd >= 0 || errno != EACCES)
		return fd;
	fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode) && !fstatfs(fd, &fs) &&
		       !view_is_kernels(fs.f_type)))
		return fd;
	close(fd);
	errno = EACCES;
	return -1;
}

int ref_open(struct ref *r, const message *m)
{
	const struct handle *h;
	struct stat st;
	int dir;

	r->close = false;
	if (m->handle) {
		h = handle_find(m->handle);
		r->fd = h ? h->fd : -EBADF;
	} else {
		dir = folder_fd_of(m->dir);
		if (dir < 0 || !m->name[0]) {
			r->fd = dir;
		} else {
			r->fd = ref_openat(dir, m->name);
			if (r->fd < 0)
				return errno == ENOENT && m->ino ? ESTALE : errno;
			r->close = true;
			if (m->ino && (fstat(r->fd, &st) || st.st_ino != m->ino)) {
				close(r->fd);
				return ESTALE;
			}
		}
	}
	if (r->fd < 0)
		return -r->fd;
	snprintf(r->path, sizeof(r->path), "/proc/self/fd/%d", r->fd);
	return 0;
}

void ref_close(struct ref *r)
{
	if (r->close)
		close(r->fd);
}

void ref_attr(struct files_attr *a, const struct stat *st)
{
	*a = (struct files_attr){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = st->st_size,
		.blocks = st->st_blocks,
		.rdev = st->st_rdev,
		.mode = st->st_mode,
		.nlink = st->st_nlink,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.blksize = st->st_blksize,
		.atime = { st->st_atim.tv_sec, st->st_atim.tv_nsec },
		.mtime = { st->st_mtim.tv_sec, st->st_mtim.tv_nsec },
		.ctime = { st->st_ctim.tv_sec, st->st_ctim.tv_nsec },
	};
}

int ref_stat(int fd, struct files_attr *a)
{
	struct stat st;

	if (fstat(fd, &st))
		return errno;
	ref_attr(a, &st);
	return 0;
}
