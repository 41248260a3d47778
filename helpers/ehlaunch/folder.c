// SPDX-License-Identifier: GPL-2.0-or-later
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utlist.h>

#include "caller.h"
#include "helpers/common/pidfd.h"

#define FOLDER_DEPTH 100 /* of cgroups that a guest has made below its own */
#define FOLDER_AGAIN_MS 1000 /* one that is empty could not be removed */
#define FOLDER_PATH (LAUNCH_ID_MAX + 16)

struct folder {
	struct folder *next;
	int above; /* descriptor of managed/, all/ or guest/ */
	int events; /* descriptor of its cgroup.events */
	int end; /* of a guest: pidfd of its ehguest; -1: not known, or it has gone */
	bool busy; /* it was empty, and could not be removed */
	bool kill; /* its end has gone, and the rest could not be killed */
	uid_t uid;
	char id[LAUNCH_ID_MAX];
};

static int folders_changes =
	-1; /* epoll: those whose cgroup.events have changed, or whose end has gone */
static struct folder *folders;

int folders_open(void)
{
	folders_changes = epoll_create1(EPOLL_CLOEXEC);
	return folders_changes < 0 ? -errno : folders_changes;
}

unsigned int folders_count(int above, uid_t uid)
{
	unsigned int n = 0;

	for (const struct folder *f = folders; f; f = f->next)
		n += f->above == above && f->uid == uid;
	return n;
}

struct folder *folder_find(int above, const char *id)
{
	struct folder *f = folders;

	while (f && (f->above != above || strcmp(f->id, id)))
		f = f->next;
	return f;
}

int folder_open(int above, const char *id)
{
	return openat(above, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

DIR *folder_list(int above, const char *id)
{
	int fd = folder_open(above, id);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

/* Kernels before 5.7 have no such attributes: EOPNOTSUPP. */
bool folder_note(int folder, const char *name, char text[LAUNCH_NOTE_PROCESS])
{
	ssize_t n = fgetxattr(folder, name, text, LAUNCH_NOTE_PROCESS - 1);

	if (!n)
		errno = ENODATA;
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

int folder_write(int folder, const char *name, const char *text)
{
	int fd = openat(folder, name, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

int folder_kill(int above, const char *id)
{
	char name[FOLDER_PATH];

	snprintf(name, sizeof(name), "%s/cgroup.kill", id);
	return folder_write(above, name, "1");
}

/* Reading it, too, takes note of the last change: the next one is another event. */
static bool folder_is_empty(const struct folder *f)
{
	char text[128];
	ssize_t n = pread(f->events, text, sizeof(text) - 1, 0);

	if (n < 0) /* another has removed it */
		return true;
	text[n] = '\0';
	return !strstr(text, "populated 1");
}

/* A child that has not executed anything yet has it open, too, so that close() would not do. */
static void folder_close(int *fd)
{
	if (*fd < 0)
		return;
	epoll_ctl(folders_changes, EPOLL_CTL_DEL, *fd, NULL);
	close(*fd);
	*fd = -1;
}

/*
 * The file is polled, as inotify has few instances for all processes of a user. It must have been
 * read before, or its first event is one that nobody has made.
 */
struct folder *folder_watch(int above, const char *id, uid_t uid)
{
	struct folder *f = calloc(1, sizeof(*f));
	struct epoll_event change = { .events = EPOLLPRI, .data.ptr = f };
	char name[FOLDER_PATH];

	if (!f)
		return NULL;
	f->above = above;
	f->uid = uid;
	f->end = -1;
	strcpy(f->id, id);
	snprintf(name, sizeof(name), "%s/cgroup.events", id);
	f->events = openat(above, name, O_RDONLY | O_CLOEXEC);
	if (f->events >= 0)
		folder_is_empty(f);
	if (f->events < 0 || epoll_ctl(folders_changes, EPOLL_CTL_ADD, f->events, &change)) {
		if (f->events >= 0)
			close(f->events);
		free(f);
		return NULL;
	}
	LL_PREPEND(folders, f);
	return f;
}

static void folder_forget(struct folder *f)
{
	LL_DELETE(folders, f);
	folder_close(&f->events);
	folder_close(&f->end);
	free(f);
}

/* ---- its removal ---- */

/* With those below it, which a guest of root may have made. 0 or -EBUSY: there is a process. */
static int folder_remove(int above, const char *name, int depth)
{
	struct dirent *d;
	DIR *dir;

	if (!unlinkat(above, name, AT_REMOVEDIR) || errno != EBUSY)
		return 0;
	dir = depth ? folder_list(above, name) : NULL;
	if (!dir)
		return -EBUSY;
	while ((d = readdir(dir)))
		if (d->d_type == DT_DIR && strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			folder_remove(dirfd(dir), d->d_name, depth - 1);
	closedir(dir);
	return unlinkat(above, name, AT_REMOVEDIR) && errno == EBUSY ? -EBUSY : 0;
}

void folder_look(struct folder *f)
{
	if (!folder_is_empty(f))
		return;
	/* One may have been moved there. No event says when the rest can be removed. */
	f->busy = folder_remove(f->above, f->id, FOLDER_DEPTH);
	if (!f->busy)
		folder_forget(f);
}

/* ---- its end ---- */

/* It cannot kill what it has started, and perhaps nobody else is there who knows of it. */
static void folder_kill_rest(struct folder *f)
{
	int err = folder_kill(f->above, f->id);

	/* -ENOENT: it has been removed, or this kernel has no cgroup.kill. */
	f->kill = err && err != -ENOENT;
}

/* Without a watch its agent is asked for the kill, as long as there is one. */
static void folder_follow(struct folder *f, int pidfd)
{
	struct epoll_event gone = { .events = EPOLLIN, .data.ptr = f };

	folder_close(&f->end);
	if (pidfd < 0)
		return;
	if (epoll_ctl(folders_changes, EPOLL_CTL_ADD, pidfd, &gone)) {
		close(pidfd);
		return;
	}
	f->end = pidfd;
}

void folder_end(struct folder *f, pid_t pid, int pidfd)
{
	int fd = folder_open(f->above, f->id);
	char text[LAUNCH_NOTE_PROCESS];

	if (fd >= 0) {
		caller_say(pid, text);
		fsetxattr(fd, LAUNCH_NOTE_END, text, strlen(text), 0);
		close(fd);
	}
	folder_follow(f, pidfd);
}

void folder_end_again(struct folder *f)
{
	int fd = folder_open(f->above, f->id);
	char text[LAUNCH_NOTE_PROCESS];
	unsigned long long start, now;
	int pid, pidfd, err;

	if (fd < 0)
		return;
	folder_note(fd, LAUNCH_NOTE_END, text);
	close(fd);
	/* Of an ehlaunch of before: nothing is known. */
	if (sscanf(text, "%d %llu", &pid, &start) != 2 || pid <= 0)
		return;
	pidfd = syscall(SYS_pidfd_open, pid, 0u);
	err = pidfd < 0 ? errno : 0;
	now = caller_start_of(pid);
	/* Its number is another's now. If the host does not say, it is taken for the same. */
	if (!err && (!start || !now || start == now)) {
		folder_follow(f, pidfd);
		return;
	}
	if (!err || err == ESRCH)
		folder_kill_rest(f);
	if (!err)
		close(pidfd);
}

/* ---- all of them ---- */

static void folder_take(struct folder *f)
{
	if (f->end >= 0 && pidfd_ended(f->end)) {
		folder_close(&f->end);
		f->kill = true;
	}
	if (f->kill)
		folder_kill_rest(f);
	folder_look(f);
}

void folders_take(void)
{
	struct epoll_event change;
	struct folder *f, *next;

	/* One by one: the first of two events of a cgroup may be its last. */
	for (int i = 0; i < 32 && epoll_wait(folders_changes, &change, 1, 0) == 1; i++)
		folder_take(change.data.ptr);
	LL_FOREACH_SAFE(folders, f, next)
	if (f->busy || f->kill)
		folder_take(f);
}

int folders_wait_ms(void)
{
	for (const struct folder *f = folders; f; f = f->next)
		if (f->busy || f->kill)
			return FOLDER_AGAIN_MS;
	return -1;
}
