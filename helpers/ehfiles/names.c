// SPDX-License-Identifier: GPL-2.0-or-later
#include "names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "folder.h"
#include "handle.h"
#include "watch.h"
#include "wire/frame.h"

#define LIST_MAX 1024 /* entries of a directory, above which the executor asks for each */
#define LIST_BYTES (128 << 10)

static uint8_t names_data[LIST_BYTES + FILES_ENTRY_MAX];

/* The request itself changes what it is about: that is no news. */
static void names_own(const message *m)
{
	const struct handle *h = m->handle ? handle_find(m->handle) : NULL;
	const struct folder *f;

	if (h && h->name[0]) {
		watch_own(h->dir, h->name, FILES_NEWS_ATTR);
	} else if (m->name[0]) {
		watch_own(m->dir, m->name, FILES_NEWS_ATTR);
	} else {
		f = folder_find(h ? h->dir : m->dir);
		if (!f)
			return;
		watch_own(f->id, "", FILES_NEWS_ATTR);
		if (f->parent)
			watch_own(f->parent, f->name, FILES_NEWS_ATTR);
	}
}

int names_look(const message *m, message *a)
{
	int dir = folder_fd_of(m->dir);
	struct stat st;

	if (dir < 0)
		return -dir;
	if (fstatat(dir, m->name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT))
		return errno;
	ref_attr(&a->attr, &st);
	return 0;
}

/* False: there are more entries. */
static bool names_list_all(int fd, size_t *n)
{
	unsigned int count = 0;
	struct files_attr attr;
	struct dirent *e;
	struct stat st;
	DIR *d = fdopendir(fd);

	if (!d) {
		close(fd);
		return false;
	}
	*n = 0;
	while ((errno = 0, e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (++count > LIST_MAX || *n > LIST_BYTES)
			break;
		if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT)) {
			if (errno == ENOENT)
				continue; /* it was removed meanwhile */
			break;
		}
		ref_attr(&attr, &st);
		*n += files_entry_encode(names_data + *n, &attr, e->d_name);
	}
	closedir(d);
	return !e && !errno;
}

int names_list(const message *m, message *a)
{
	struct folder *f = folder_find(m->dir);
	int fd = f ? folder_fd(f) : -ESTALE;
	size_t n;

	if (fd < 0)
		return -fd;
	/* first watch, then read: no change is missed */
	if (!watch_folder(f))
		return 0;
	a->flags = FILES_WATCHED;
	fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && names_list_all(fd, &n)) {
		a->flags |= FILES_COMPLETE;
		a->data = names_data;
		a->length = n;
	}
	return 0;
}

int names_stat(struct ref *r, const message *m, message *a)
{
	int err = 0;

	err = ref_stat(r->fd, &a->attr);
	return err;
}

static struct timespec names_time(const struct files_time *t, bool set)
{
	return (struct timespec){ t->sec, set ? t->nsec : UTIME_OMIT };
}

/* In an order in which no step undoes another: a new owner or size clears set-user-id. */
static int names_apply(const message *m, const struct ref *r)
{
	const struct timespec times[2] = {
		names_time(&m->times[0], m->flags & FILES_SET_ATIME),
		names_time(&m->times[1], m->flags & FILES_SET_MTIME),
	};
	const struct handle *h = m->handle ? handle_find(m->handle) : NULL;

	if (m->flags & (FILES_SET_UID | FILES_SET_GID) &&
	    fchownat(r->fd, "", m->flags & FILES_SET_UID ? m->uid : (uid_t)-1,
		     m->flags & FILES_SET_GID ? m->gid : (gid_t)-1,
		     AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
		return errno;
	if (m->flags & FILES_SET_SIZE &&
	    (h && h->writes ? ftruncate(h->fd, m->size) : truncate(r->path, m->size)))
		return errno;
	if (m->flags & FILES_SET_MODE && chmod(r->path, m->mode & 07777))
		return errno;
	if (m->flags & (FILES_SET_ATIME | FILES_SET_MTIME) &&
	    utimensat(r->fd, "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
		return errno;
	return 0;
}

int names_set(struct ref *r, const message *m, message *a)
{
	int err = names_apply(m, r);

	names_own(m);
	watch_look();
	if (!err)
		err = ref_stat(r->fd, &a->attr);
	return err;
}

int names_readlink(struct ref *r, const message *m, message *a)
{
	ssize_t n = readlinkat(r->fd, "", a->text, FILES_TEXT_MAX);

	if (n < 0)
		return errno;
	a->text[n] = '\0';
	return 0;
}

int names_make(const message *m, message *a)
{
	int dir = folder_fd_of(m->dir), err;
	uint32_t mask, mode = files_mode_asked(m->mode, &mask);

	if (dir < 0 || !m->name[0])
		return dir < 0 ? -dir : EINVAL;
	umask(mask);
	if (m->op == FILES_MKDIR)
		err = mkdirat(dir, m->name, mode & 07777);
	else if (m->op == FILES_MKNOD)
		err = mknodat(dir, m->name, mode, m->size);
	else
		err = symlinkat(m->text, dir, m->name);
	if (err)
		err = errno;
	umask(0);
	if (err)
		return err;
	watch_own(m->dir, m->name, FILES_NEWS_NAME);
	watch_look();
	return names_look(m, a);
}

static bool names_component(const char *name)
{
	return *name && strlen(name) <= FILES_NAME_MAX && !strchr(name, '/') && strcmp(name, ".") &&
	       strcmp(name, "..");
}

int names_link(struct ref *r, const message *m, message *a)
{
	struct folder *to = folder_find(m->dir2);
	int dir = to ? folder_fd(to) : -ESTALE, err;

	if (!names_component(m->text))
		return EINVAL;
	if (dir < 0)
		return -dir;
	/* only a path in /proc leads to r: to be followed */
	if (!r->close && !m->handle)
		return EPERM;
	if (linkat(AT_FDCWD, r->path, dir, m->text, AT_SYMLINK_FOLLOW))
		return errno;
	names_own(m);
	watch_own(m->dir2, m->text, FILES_NEWS_NAME);
	watch_look();
	err = ref_stat(r->fd, &a->attr);
	if (!err)
		watch_confirm(m->dir2, m->text, a->attr.ino);
	return err;
}

int names_unlink(const message *m, message *a)
{
	int dir = folder_fd_of(m->dir);

	if (dir < 0 || !m->name[0])
		return dir < 0 ? -dir : EINVAL;
	if (unlinkat(dir, m->name, m->op == FILES_RMDIR ? AT_REMOVEDIR : 0))
		return errno;
	watch_own(m->dir, m->name, FILES_NEWS_NAME);
	watch_look();
	watch_confirm(m->dir, m->name, 0);
	return 0;
}

int names_rename(const message *m, message *a)
{
	struct folder *from = folder_find(m->dir), *to = folder_find(m->dir2);
	int fd, other, err = 0;
	struct stat st;

	if (!from || !to || !m->name[0] || !names_component(m->text))
		return from && to ? EINVAL : ESTALE;
	/* a duplicate: opening the second directory may close the first */
	fd = folder_fd(from);
	fd = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return -fd;
	other = folder_fd(to);
	if (other < 0)
		err = -other;
	else if (renameat2(fd, m->name, other, m->text, m->flags))
		err = errno;
	if (!err && !fstatat(other, m->text, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode))
		folder_moved(m->dir, m->name, m->dir2, m->text);
	close(fd);
	if (err)
		return err;
	watch_own(m->dir, m->name, FILES_NEWS_NAME);
	watch_own(m->dir2, m->text, FILES_NEWS_NAME);
	watch_look();
	if (!(m->flags & RENAME_EXCHANGE))
		watch_confirm(m->dir, m->name, 0);
	watch_confirm(m->dir2, m->text, m->ino);
	return 0;
}

int names_statfs(struct ref *r, const message *m, message *a)
{
	struct statvfs fs;

	if (fstatvfs(r->fd, &fs))
		return errno;
	const uint64_t all[] = { fs.f_bsize,  fs.f_frsize, fs.f_blocks, fs.f_bfree,
				 fs.f_bavail, fs.f_files,  fs.f_ffree,	fs.f_namemax };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		frame_put_u64(names_data + 8 * i, all[i]);
	a->data = names_data;
	a->length = sizeof(all);
	return 0;
}

int names_access(struct ref *r, const message *m, message *a)
{
	return faccessat(AT_FDCWD, r->path, m->mode & (R_OK | W_OK | X_OK), AT_EACCESS) ? errno : 0;
}

int names_xattr(struct ref *r, const message *m, message *a)
{
	size_t most = m->size < sizeof(names_data) ? m->size : sizeof(names_data);
	ssize_t n = 0;
	int err = 0;

	if (m->op == FILES_GETXATTR)
		n = getxattr(r->path, m->text, most ? names_data : NULL, most);
	else if (m->op == FILES_LISTXATTR)
		n = listxattr(r->path, most ? (char *)names_data : NULL, most);
	else if (m->op == FILES_SETXATTR)
		n = setxattr(r->path, m->text, m->data, m->length, m->flags);
	else
		n = removexattr(r->path, m->text);
	if (n < 0)
		err = errno;
	if (m->op == FILES_SETXATTR || m->op == FILES_REMOVEXATTR) {
		names_own(m);
		watch_look();
	} else if (!err) {
		a->size = n;
		a->data = names_data;
		a->length = most ? n : 0;
	}
	return err;
}
