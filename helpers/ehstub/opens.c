// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the task has open beyond descriptors 0 to 2 as they usually are: which open files there are, which
 * descriptors lead to each, and whether another host can have them. What cannot be carried keeps the
 * task at home.
 */
#include "opens.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "descriptor.h"
#include "helpers/common/number.h"
#include "helpers/end/open.h"
#include "helpers/end/place.h"
#include "helpers/end/text.h"

#define OPENS_KCMP_FILE 0ul /* of linux/kcmp.h, which musl has not */
#define OPENS_NUMBERS 1024 /* that are tried if there is no /proc */

static int opens_compare(pid_t mine, pid_t other, int a, int b)
{
	return syscall(SYS_kcmp, mine, other, OPENS_KCMP_FILE, (unsigned long)a, (unsigned long)b);
}

static bool opens_same(int a, int b)
{
	struct stat one, two;
	pid_t me;

	if (fstat(a, &one) || fstat(b, &two) || one.st_dev != two.st_dev ||
	    one.st_ino != two.st_ino)
		return false;
	me = getpid();
	return !opens_compare(me, me, a, b);
}

static bool opens_refuse(struct opens *o, int fd, const char *why)
{
	if (!o->trouble) {
		o->trouble = why;
		o->culprit = fd;
	}
	return false;
}

/* ---- files that the executor may open itself ---- */

/* The path that leads to this open file for everybody, allocated; NULL: there is none. */
static char *opens_path(int fd, const struct stat *st)
{
	char name[DESCRIPTOR_NAME], path[PATH_MAX];
	struct stat there;
	ssize_t n;

	n = readlink(descriptor_name(fd, name), path, sizeof(path) - 1);
	if (n <= 0 || path[0] != '/')
		return NULL;
	path[n] = '\0';
	if (stat(path, &there) || there.st_dev != st->st_dev || there.st_ino != st->st_ino)
		return NULL;
	return strdup(path);
}

/* Whether the caller has a lock on it: the task would have it, too, but not an open file elsewhere. */
static bool opens_is_locked(int fd)
{
	char name[DESCRIPTOR_NAME + 4] = "/proc/self/fdinfo/", text[1024];

	number_text(fd, name + strlen(name));
	/* Perhaps it cannot be told. */
	return text_read(AT_FDCWD, name, text, sizeof(text)) < 0 || strstr(text, "lock:");
}

/* Whether the parent has this open file in one of its descriptors, or it cannot be told. */
static bool opens_is_parents(int fd, const struct stat *st)
{
	pid_t me = getpid(), parent = getppid();
	char name[40] = "/proc/";
	struct dirent *entry;
	bool has = false;
	DIR *dir;

	number_text(parent, name + strlen(name));
	strcat(name, "/fd");
	dir = parent > 1 ? opendir(name) : NULL;
	if (!dir)
		return true;
	while (!has && (entry = readdir(dir)))
		has = descriptor_leads(dir, entry, st) &&
		      opens_compare(me, parent, fd, atoi(entry->d_name)) <= 0;
	closedir(dir);
	return has;
}

static bool opens_has_children(void)
{
	char name[48] = "/proc/self/task/", text[2];

	number_text(getpid(), name + strlen(name));
	strcat(name, "/children");
	/* Perhaps it cannot be told. */
	return text_read(AT_FDCWD, name, text, sizeof(text)) != 0;
}

/* Nobody else writes at the offset of this open file. */
static bool opens_is_own(int fd, const struct stat *st)
{
	return !opens_has_children() && !opens_is_parents(fd, st);
}

/* A log that somebody with more rights has opened for it, and that it cannot open again. */
static bool opens_is_others_log(const struct job_file *f, const struct stat *st)
{
	if ((f->flags & (JOB_OPEN_READ | JOB_OPEN_APPEND)) != JOB_OPEN_APPEND)
		return false;
	return f->path ? access(f->path, W_OK) != 0 : st->st_nlink != 0;
}

/* Why such a file must stay here; NULL: it need not. Sets the flags that depend on it. */
static const char *opens_real(int fd, const struct stat *st, struct job_file *f)
{
	const bool low = fd < 3;
	char place[PLACE_MAX];
	off_t offset = 0;

	if (S_ISREG(st->st_mode)) {
		offset = lseek(fd, 0, SEEK_CUR);
		if (offset < 0)
			return "is a file without an offset";
	}
	f->offset = offset;
	if (f->flags & JOB_OPEN_WRITE && f->flags & JOB_OPEN_APPEND) {
		f->flags |= low ? JOB_OPEN_HERE : 0;
	} else if (f->flags & JOB_OPEN_WRITE && !opens_is_own(fd, st)) {
		if (low || offset != st->st_size || (st->st_size && f->flags & JOB_OPEN_READ))
			return "is written at an offset that it shares with other processes";
		/* A log, to which several may write at once: home has the one offset. */
		if (st->st_size) {
			f->kind = JOB_STREAM;
			return NULL;
		}
		f->flags |= JOB_OPEN_APPEND;
	}
	if (!low && opens_is_locked(fd))
		return "is a file that is locked";
	if (place_of(fd, place))
		return "is in a file system of this host's kernel";
	f->flags |= low ? JOB_OPEN_OR_STREAM : 0;
	f->ino = st->st_ino;
	f->path = opens_path(fd, st);
	if (!low && opens_is_others_log(f, st)) {
		free((char *)f->path);
		f->kind = JOB_STREAM;
		f->path = f->place = "";
		return NULL;
	}
	f->place = f->path ? strdup(place) : NULL;
	return f->place ? NULL : "is a file that no path leads to";
}

/* ---- kinds ---- */

static bool opens_is_connected(int fd)
{
	struct sockaddr_storage peer;
	int type = 0, listens = 0;
	socklen_t size = sizeof(type), peer_size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_STREAM)
		return false;
	size = sizeof(listens);
	if (!getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) && listens)
		return false;
	/* The other end may have closed it. */
	return !getpeername(fd, (struct sockaddr *)&peer, &peer_size) || errno != ENOTCONN;
}

/* What it is to be on the executor. NULL, or why it must stay here. */
static const char *opens_classify(int fd, const struct stat *st, struct job_file *f)
{
	const char *why;

	f->path = f->place = "";
	f->flags = open_flags(fd);
	if (!f->flags)
		return "is only a name of a file (O_PATH)";
	switch (st->st_mode & S_IFMT) {
	case S_IFIFO:
		f->kind = JOB_STREAM;
		return NULL;
	case S_IFSOCK:
		f->kind = JOB_SOCKET;
		f->flags |= JOB_OPEN_READ | JOB_OPEN_WRITE;
		return opens_is_connected(fd) ? NULL : "is a socket that is not a connected stream";
	case S_IFCHR:
		f->kind = JOB_DEVICE;
		f->ino = minor(st->st_rdev);
		return open_is_device(st) ? NULL : "is a device of this host";
	case S_IFREG:
	case S_IFDIR:
		f->kind = JOB_REAL;
		why = opens_real(fd, st, f);
		/* It has no name any more, as the text of a here-document: only its bytes matter. */
		if (why && fd > 2 && S_ISREG(st->st_mode) && !st->st_nlink &&
		    f->flags == JOB_OPEN_READ) {
			f->kind = JOB_STREAM;
			f->path = f->place = "";
			return NULL;
		}
		return why;
	default:
		return "belongs to this host's kernel (epoll, event, timer and the like)";
	}
}

/* ---- the lists ---- */

bool opens_put(struct opens *o, int fd, uint32_t channel)
{
	uint32_t i = o->ndescriptors;

	if (i == JOB_DESCRIPTORS_MAX || fd > JOB_NUMBER_MAX)
		return opens_refuse(o, fd, "is one too many");
	for (; i && o->descriptors[i - 1].number > (uint32_t)fd; i--)
		o->descriptors[i] = o->descriptors[i - 1];
	o->descriptors[i] = (struct job_descriptor){ fd, channel };
	o->ndescriptors++;
	return true;
}

static bool opens_is_terminal(int fd)
{
	return tcgetpgrp(fd) >= 0 && !descriptor_is_master(fd);
}

/* The channel of an open file that is known already, -1: none. */
static int opens_known(const struct opens *o, int fd)
{
	for (int i = 0; i < 3; i++)
		if (fd > 2 && o->usual >> i & 1 && opens_same(i, fd))
			return i;
	for (uint32_t i = 0; i < o->nfiles; i++)
		if (opens_same(o->fds[i], fd))
			return JOB_CHANNEL_FILES + i;
	return -1;
}

static bool opens_add(struct opens *o, int fd, const struct stat *st)
{
	const char *why;
	int channel;

	if (S_ISCHR(st->st_mode) && opens_is_terminal(fd))
		return o->terminal ? opens_put(o, fd, JOB_CHANNEL_TERMINAL)
				   : opens_refuse(o, fd, "is the terminal, and none of 0 to 2 is");
	channel = opens_known(o, fd);
	if (channel >= 0)
		return opens_put(o, fd, channel);
	if (o->nfiles == JOB_FILES_MAX)
		return opens_refuse(o, fd, "is one too many");
	why = opens_classify(fd, st, &o->files[o->nfiles]);
	if (why)
		return opens_refuse(o, fd, why);
	o->fds[o->nfiles] = fd;
	return opens_put(o, fd, JOB_CHANNEL_FILES + o->nfiles++);
}

/* Descriptors 0 to 2 that are not just read (0) or written (1, 2), sockets, or what the executor can open. */
static bool opens_look_low(struct opens *o)
{
	for (int fd = 0; fd < 3; fd++) {
		const uint32_t way = fd ? JOB_OPEN_WRITE : JOB_OPEN_READ;
		struct stat st;
		bool odd;

		if (fstat(fd, &st))
			continue;
		switch (st.st_mode & S_IFMT) {
		case S_IFIFO:
			odd = (open_flags(fd) & (JOB_OPEN_READ | JOB_OPEN_WRITE)) != way;
			break;
		case S_IFCHR:
			o->terminal |= opens_is_terminal(fd);
			odd = open_is_device(&st) && minor(st.st_rdev) != 3;
			break;
		case S_IFREG:
		case S_IFDIR:
		case S_IFSOCK:
			odd = true;
			break;
		default:
			odd = false;
		}
		if (odd && opens_add(o, fd, &st))
			continue;
		/* One that listens, or has packets, is of no use as anything else. */
		if (S_ISSOCK(st.st_mode))
			return false;
		/* What cannot be carried as it is goes as it always did. */
		o->usual |= 1u << fd;
		o->trouble = NULL;
	}
	return true;
}

static bool opens_try(struct opens *o, int fd)
{
	struct stat st;

	return fd < 3 || fstat(fd, &st) || opens_add(o, fd, &st);
}

static bool opens_look_high(struct opens *o)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	bool good = true;

	if (!dir) {
		for (int fd = 3; fd < OPENS_NUMBERS && good; fd++)
			good = opens_try(o, fd);
		return good;
	}
	while (good && (entry = readdir(dir))) {
		int fd = entry->d_name[0] == '.' ? 0 : atoi(entry->d_name);

		good = fd == dirfd(dir) || opens_try(o, fd);
	}
	closedir(dir);
	return good;
}

bool opens_look(struct opens *o)
{
	return opens_look_low(o) && opens_look_high(o);
}

/* ---- while the task runs ---- */

void opens_use(struct opens *o, uint32_t channel)
{
	o->uses[channel]++;
}

void opens_close(struct opens *o, uint32_t channel)
{
	if (--o->uses[channel])
		return;
	for (uint32_t i = 0; i < o->ndescriptors; i++)
		if (o->descriptors[i].channel == channel)
			close(o->descriptors[i].number);
}
