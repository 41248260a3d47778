// SPDX-License-Identifier: GPL-2.0-or-later
/* Open files and their locks. */
#include "ehfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <dirent.h>

#define HANDLE_FLAGS (O_ACCMODE | O_APPEND | O_TRUNC | O_SYNC | O_DSYNC)
#define HANDLE_INLINE 65536 /* bytes of a file that are sent with the answer to open */
#define HANDLE_UNSURE_NS 50000000 /* longer than a tick of a file system's clock */

/* The POSIX locks of one process on a file, held by an open file description of their own. */
struct lock {
	struct lock *next;
	uint64_t dev, ino, owner;
	int fd;
};

static struct handle *handles;
static struct lock *locks;
static uint8_t handle_data[FILES_DATA_MAX];

struct handle *handle_find(uint32_t id)
{
	struct handle *h;

	HASH_FIND(hh, handles, &id, sizeof(id), h);
	return h;
}

/* Its name may have been given to another file. */
static bool handle_is_at(const struct handle *h, struct folder *f)
{
	int dir = folder_fd(f);
	struct stat st;

	return dir >= 0 && !fstatat(dir, h->name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) &&
	       st.st_dev == h->dev && st.st_ino == h->ino;
}

bool handle_writes(struct folder *f, const char *name)
{
	const struct folder *of;

	for (const struct handle *h = handles; h; h = h->hh.next) {
		if (!h->writes || strcmp(h->name, name))
			continue;
		of = folder_find(h->dir);
		if (of && of->wd == f->wd && handle_is_at(h, f))
			return true;
	}
	return false;
}

static bool handle_unsure(const struct files_attr *a)
{
	struct timespec now;
	int64_t past;

	clock_gettime(CLOCK_REALTIME, &now);
	past = (now.tv_sec - a->ctime.sec) * 1000000000ll + now.tv_nsec - a->ctime.nsec;
	return past < HANDLE_UNSURE_NS;
}

/* NULL: no memory. */
static struct handle *handle_add(uint32_t id, int fd, bool writes, const struct files_attr *attr)
{
	struct handle *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->id = id;
	h->fd = fd;
	h->writes = writes;
	h->dev = attr->dev;
	h->ino = attr->ino;
	HASH_ADD(hh, handles, id, sizeof(h->id), h);
	return h;
}

static void handle_send_content(const message *m, int fd, message *a)
{
	const struct files_attr *t = &a->attr;
	ssize_t n;

	if (handle_unsure(t))
		a->flags |= FILES_UNSURE;
	if ((m->flags & O_ACCMODE) == O_WRONLY || m->flags & O_TRUNC || !t->size ||
	    t->size > HANDLE_INLINE)
		return;
	if (m->size == t->size && m->times[0].sec == t->mtime.sec &&
	    m->times[0].nsec == t->mtime.nsec && m->times[1].sec == t->ctime.sec &&
	    m->times[1].nsec == t->ctime.nsec)
		return;
	n = pread(fd, handle_data, t->size, 0);
	if (n != (ssize_t)t->size)
		return;
	a->flags |= FILES_DATA;
	a->data = handle_data;
	a->length = n;
}

int handle_open(const message *m, message *a)
{
	bool folder = m->flags & O_DIRECTORY;
	struct handle *h;
	struct ref r;
	int fd, err;

	if (!m->handle2 || handle_find(m->handle2))
		return EBADF;
	err = ref_open(&r, m);
	if (err)
		return err;
	err = files_stat(r.fd, &a->attr);
	/* only regular files and directories; anything else may have side effects when opened */
	if (!err && !(folder ? S_ISDIR(a->attr.mode) : S_ISREG(a->attr.mode)))
		err = ESTALE;
	if (err)
		goto close_ref;
	fd = folder ? openat(r.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
		    : open(r.path, (m->flags & HANDLE_FLAGS) | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		err = errno;
		goto close_ref;
	}
	if (m->flags & O_TRUNC)
		watch_own(m->dir, m->name, FILES_NEWS_ATTR);
	watch_look();
	err = files_stat(fd, &a->attr);
	h = err ? NULL
		: handle_add(m->handle2, fd, !folder && (m->flags & O_ACCMODE) != O_RDONLY,
			     &a->attr);
	if (!h) {
		close(fd);
		err = err ?: ENOMEM;
		goto close_ref;
	}
	h->dir = m->dir;
	strcpy(h->name, m->name);
	if (!folder)
		handle_send_content(m, fd, a);
close_ref:
	ref_close(&r);
	return err;
}

int handle_create(const message *m, message *a)
{
	int dir = folder_fd_of(m->dir), fd, err;
	uint32_t mask, mode = files_mode_asked(m->mode, &mask);
	struct handle *h;

	if (!m->handle2 || handle_find(m->handle2) || !m->name[0])
		return EBADF;
	if (dir < 0)
		return -dir;
	umask(mask);
	fd = folder_openat(dir, m->name,
			   (m->flags & (HANDLE_FLAGS | O_EXCL)) | O_CREAT | O_NOFOLLOW |
				   O_NONBLOCK | O_NOCTTY,
			   mode & 07777);
	err = errno;
	umask(0);
	if (fd < 0)
		return err == ELOOP || err == ENXIO ? ESTALE : err;
	watch_own(m->dir, m->name, FILES_NEWS_NAME);
	watch_look();
	err = files_stat(fd, &a->attr);
	if (!err && !S_ISREG(a->attr.mode))
		err = ESTALE;
	if (!err)
		names_confirm(m->dir, m->name, a->attr.ino);
	h = err ? NULL : handle_add(m->handle2, fd, (m->flags & O_ACCMODE) != O_RDONLY, &a->attr);
	if (!h) {
		close(fd);
		return err ?: ENOMEM;
	}
	h->dir = m->dir;
	strcpy(h->name, m->name);
	return 0;
}

int handle_read(const message *m, message *a)
{
	struct handle *h = handle_find(m->handle);
	size_t most = m->size < FILES_DATA_MAX ? m->size : FILES_DATA_MAX, n = 0;
	ssize_t more = 0;

	if (!h)
		return EBADF;
	while (n < most) {
		more = pread(h->fd, handle_data + n, most - n, m->offset + n);
		if (more <= 0)
			break;
		n += more;
	}
	if (more < 0 && !n)
		return errno;
	a->data = handle_data;
	a->length = n;
	return 0;
}

/*
 * A write has no answer: a later flush or fsync reports its error. All handles that have written to
 * the file report it, because the kernel there writes pages of a mapping through any of them.
 */
static void handle_failed(const struct handle *of, int error)
{
	for (struct handle *h = handles; h; h = h->hh.next)
		if (h->writes && h->dev == of->dev && h->ino == of->ino)
			h->error = error;
}

int handle_write(const message *m, message *a)
{
	struct handle *h = handle_find(m->handle);
	size_t n = 0;
	ssize_t more;

	if (!h)
		return EBADF;
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

static int handle_told(struct handle *h)
{
	int error = h->error;

	h->error = 0;
	return error;
}

/* ---- locks ---- */

/* Releases the locks of one owner, or all. */
static void lock_release(const struct handle *h, bool all, uint64_t owner)
{
	struct lock *l;

	for (struct lock **at = &locks; (l = *at);) {
		if (l->dev != h->dev || l->ino != h->ino || (!all && l->owner != owner)) {
			at = &l->next;
			continue;
		}
		*at = l->next;
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
	l->next = locks;
	locks = l;
	return l;
}

int handle_lock(const message *m, message *a)
{
	struct handle *h = handle_find(m->handle);
	struct flock fl = {
		.l_type = m->mode,
		.l_whence = SEEK_SET,
		.l_start = m->offset,
		.l_len = m->size,
	};
	struct lock *l;

	if (!h || (m->mode != F_RDLCK && m->mode != F_WRLCK && m->mode != F_UNLCK))
		return h ? EINVAL : EBADF;
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

int handle_flock(const message *m, message *a)
{
	struct handle *h = handle_find(m->handle);

	if (!h)
		return EBADF;
	return flock(h->fd, m->mode | LOCK_NB) ? errno : 0;
}

/* ---- flush, fsync, close ---- */

int handle_flush(const message *m, message *a)
{
	struct handle *h = handle_find(m->handle);

	if (!h)
		return EBADF;
	if (!m->owner)
		return handle_told(h);
	lock_release(h, false, m->owner);
	/* A child that ends closes it, too, and looks at no error: who wrote has still to be told. */
	return h->error;
}

int handle_fsync(const message *m, message *a)
{
	struct handle *h = handle_find(m->handle);

	if (!h)
		return EBADF;
	if (m->flags ? fdatasync(h->fd) : fsync(h->fd))
		return errno;
	return handle_told(h);
}

int handle_close(const message *m, message *a)
{
	struct handle *h = handle_find(m->handle), *other;

	if (!h)
		return EBADF;
	close(h->fd);
	if (h->writes) {
		watch_own(h->dir, h->name, FILES_NEWS_ATTR);
		watch_look();
	}
	HASH_DEL(handles, h);
	for (other = handles; other; other = other->hh.next)
		if (other->dev == h->dev && other->ino == h->ino)
			break;
	if (!other)
		lock_release(h, true, 0);
	free(h);
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

int handle_readdir(const message *m, message *a)
{
	struct handle *h = handle_find(m->handle);
	static union {
		struct kernel_dirent first;
		char space[16384];
	} room;
	size_t most = m->size < sizeof(room) ? m->size : sizeof(room), n = 0;
	const struct kernel_dirent *e;
	struct files_attr attr;
	long got;

	if (!h)
		return EBADF;
	if (lseek(h->fd, m->offset, SEEK_SET) < 0)
		return errno;
	got = syscall(SYS_getdents64, h->fd, &room, most < 512 ? 512 : most);
	if (got < 0)
		return errno;
	for (const char *at = room.space; at < room.space + got; at += e->length) {
		e = (const struct kernel_dirent *)at;
		if (n + FILES_ENTRY_MAX > sizeof(handle_data))
			break; /* the rest is read again, from its offset on */
		attr = (struct files_attr){ .ino = e->ino,
					    .size = e->next,
					    .mode = DTTOIF(e->type) };
		n += files_entry_encode(handle_data + n, &attr, e->name);
	}
	a->data = handle_data;
	a->length = n;
	return 0;
}

int handle_fallocate(const message *m, message *a)
{
	struct handle *h = handle_find(m->handle);

	if (!h)
		return EBADF;
	return fallocate(h->fd, m->mode, m->offset, m->size) ? errno : 0;
}
