// SPDX-License-Identifier: GPL-2.0-or-later
#include "data.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "watch.h"

#define DATA_FLAGS (O_ACCMODE | O_APPEND | O_TRUNC | O_SYNC | O_DSYNC)
#define DATA_INLINE 65536 /* bytes of a file that are sent with the answer to open */
#define DATA_UNSURE_NS 50000000 /* longer than a tick of a file system's clock */

/* The POSIX locks of one process on a file, held by an open file description of their own. */
struct lock {
	struct lock *next;
	uint64_t dev, ino, owner;
	int fd;
};

static struct lock *locks;
static uint8_t data_bytes[FILES_DATA_MAX];

static bool data_is_unsure(const struct files_attr *a)
{
	struct timespec now;
	int64_t past;

	clock_gettime(CLOCK_REALTIME, &now);
	past = (now.tv_sec - a->ctime.sec) * 1000000000ll + now.tv_nsec - a->ctime.nsec;
	return past < DATA_UNSURE_NS;
}

static void data_send_content(const message *m, int fd, message *a)
{
	const struct files_attr *t = &a->attr;
	ssize_t n;

	if (data_is_unsure(t))
		a->flags |= FILES_UNSURE;
	if ((m->flags & O_ACCMODE) == O_WRONLY || m->flags & O_TRUNC || !t->size ||
	    t->size > DATA_INLINE)
		return;
	if (m->size == t->size && m->times[0].sec == t->mtime.sec &&
	    m->times[0].nsec == t->mtime.nsec && m->times[1].sec == t->ctime.sec &&
	    m->times[1].nsec == t->ctime.nsec)
		return;
	n = pread(fd, data_bytes, t->size, 0);
	if (n != (ssize_t)t->size)
		return;
	a->flags |= FILES_DATA;
	a->data = data_bytes;
	a->length = n;
}

/* Keeps it open, or not after an error. */
static int data_add(const message *m, const message *a, int fd, int err)
{
	err = err ?: handle_add(m, fd, &a->attr);
	if (err)
		close(fd);
	return err;
}

int data_open(struct ref *r, const message *m, message *a)
{
	bool folder = m->flags & O_DIRECTORY;
	int fd, err;

	if (!m->handle2 || handle_find(m->handle2))
		return EBADF;
	err = ref_stat(r->fd, &a->attr);
	/* only regular files and directories; anything else may have side effects when opened */
	if (!err && !(folder ? S_ISDIR(a->attr.mode) : S_ISREG(a->attr.mode)))
		err = ESTALE;
	if (err)
		return err;
	fd = folder ? openat(r->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
		    : open(r->path, (m->flags & DATA_FLAGS) | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno;
	if (m->flags & O_TRUNC)
		watch_own(m->dir, m->name, FILES_NEWS_ATTR);
	watch_look();
	err = data_add(m, a, fd, ref_stat(fd, &a->attr));
	if (!err && !folder)
		data_send_content(m, fd, a);
	return err;
}

int data_create(const message *m, message *a)
{
	int dir = folder_fd_of(m->dir), fd, err;
	uint32_t mask, mode = files_mode_asked(m->mode, &mask);

	if (!m->handle2 || handle_find(m->handle2) || !m->name[0])
		return EBADF;
	if (dir < 0)
		return -dir;
	umask(mask);
	fd = folder_openat(dir, m->name,
			   (m->flags & (DATA_FLAGS | O_EXCL)) | O_CREAT | O_NOFOLLOW | O_NONBLOCK |
				   O_NOCTTY,
			   mode & 07777);
	err = errno;
	umask(0);
	if (fd < 0)
		return err == ELOOP || err == ENXIO ? ESTALE : err;
	watch_own(m->dir, m->name, FILES_NEWS_NAME);
	watch_look();
	err = ref_stat(fd, &a->attr);
	if (!err && !S_ISREG(a->attr.mode))
		err = ESTALE;
	if (!err)
		watch_confirm(m->dir, m->name, a->attr.ino);
	return data_add(m, a, fd, err);
}

int data_read(struct handle *h, const message *m, message *a)
{
	size_t most = m->size < FILES_DATA_MAX ? m->size : FILES_DATA_MAX, n = 0;
	ssize_t more = 0;

	while (n < most) {
		more = pread(h->fd, data_bytes + n, most - n, m->offset + n);
		if (more <= 0)
			break;
		n += more;
	}
	if (more < 0 && !n)
		return errno;
	a->data = data_bytes;
	a->length = n;
	return 0;
}

int data_write(struct handle *h, const message *m, message *a)
{
	size_t n = 0;
	ssize_t more;

	while (n < m->length) {
		more = pwrite(h->fd, m->data + n, m->length - n, m->offset + n);
		if (more < 0 && errno == EINTR)
			continue;
		if (more <= 0) {
			handle_failed(h, more ? errno : EIO);
			break;
		}
		n += more;
	}
	return 0;
}

static int data_told(struct handle *h)
{
	int error = h->error;

	h->error = 0;
	return error;
}

/* ---- locks ---- */

/* Releases the locks of one owner, or all. */
static void lock_release(uint64_t dev, uint64_t ino, bool all, uint64_t owner)
{
	struct lock *l, *next;

	LL_FOREACH_SAFE(locks, l, next)
	{
		if (l->dev != dev || l->ino != ino || (!all && l->owner != owner))
			continue;
		LL_DELETE(locks, l);
		close(l->fd);
		free(l);
	}
}

static struct lock *lock_of(const struct handle *h, uint64_t owner)
{
	struct lock *l;
	char path[REF_PATH];

	for (l = locks; l; l = l->next)
		if (l->dev == h->dev && l->ino == h->ino && l->owner == owner)
			return l;
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", h->fd);
	l->fd = open(path, O_RDWR | O_CLOEXEC);
	if (l->fd < 0)
		l->fd = open(path, (fcntl(h->fd, F_GETFL) & O_ACCMODE) | O_CLOEXEC);
	if (l->fd < 0) {
		free(l);
		return NULL;
	}
	l->dev = h->dev;
	l->ino = h->ino;
	l->owner = owner;
	LL_PREPEND(locks, l);
	return l;
}

int data_lock(struct handle *h, const message *m, message *a)
{
	struct flock fl = {
		.l_type = m->mode,
		.l_whence = SEEK_SET,
		.l_start = m->offset,
		.l_len = m->size,
	};
	struct lock *l;

	if (m->mode != F_RDLCK && m->mode != F_WRLCK && m->mode != F_UNLCK)
		return EINVAL;
	l = lock_of(h, m->owner);
	if (!l)
		return errno;
	if (fcntl(l->fd, m->flags ? F_OFD_GETLK : F_OFD_SETLK, &fl))
		return errno == EACCES ? EAGAIN : errno;
	a->mode = fl.l_type;
	a->offset = fl.l_start;
	a->size = fl.l_len;
	a->owner = 0;
	return 0;
}

int data_flock(struct handle *h, const message *m, message *a)
{
	return flock(h->fd, m->mode | LOCK_NB) ? errno : 0;
}

/* ---- flush, fsync, close ---- */

int data_flush(struct handle *h, const message *m, message *a)
{
	if (!m->owner)
		return data_told(h);
	lock_release(h->dev, h->ino, false, m->owner);
	/* A child that ends closes it, too, and looks at no error: who wrote has still to be told. */
	return h->error;
}

int data_fsync(struct handle *h, const message *m, message *a)
{
	if (m->flags ? fdatasync(h->fd) : fsync(h->fd))
		return errno;
	return data_told(h);
}

int data_close(struct handle *h, const message *m, message *a)
{
	const uint64_t dev = h->dev, ino = h->ino;

	close(h->fd);
	if (h->writes) {
		watch_own(h->dir, h->name, FILES_NEWS_ATTR);
		watch_look();
	}
	if (handle_drop(h))
		lock_release(dev, ino, true, 0);
	return 0;
}

/* ---- directories ---- */

struct kernel_dirent {
	uint64_t ino;
	int64_t next;
	unsigned short length;
	unsigned char type;
	char name[];
};

int data_readdir(struct handle *h, const message *m, message *a)
{
	static union {
		struct kernel_dirent first;
		char space[16384];
	} room;
	size_t most = m->size < sizeof(room) ? m->size : sizeof(room), n = 0;
	const struct kernel_dirent *e;
	struct files_attr attr;
	long got;

	if (lseek(h->fd, m->offset, SEEK_SET) < 0)
		return errno;
	got = syscall(SYS_getdents64, h->fd, &room, most < 512 ? 512 : most);
	if (got < 0)
		return errno;
	for (const char *at = room.space; at < room.space + got; at += e->length) {
		e = (const struct kernel_dirent *)at;
		if (n + FILES_ENTRY_MAX > sizeof(data_bytes))
			break; /* the rest is read again, from its offset on */
		attr = (struct files_attr){ .ino = e->ino,
					    .size = e->next,
					    .mode = DTTOIF(e->type) };
		n += files_entry_encode(data_bytes + n, &attr, e->name);
	}
	a->data = data_bytes;
	a->length = n;
	return 0;
}

int data_fallocate(struct handle *h, const message *m, message *a)
{
	return fallocate(h->fd, m->mode, m->offset, m->size) ? errno : 0;
}
