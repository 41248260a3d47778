// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Changes in the directories that the executor keeps. A change is in inotify's
 * queue when the system call that made it returns: if the queue is read before each
 * answer, all earlier changes are reported before it. Without a request changes are
 * reported WATCH_LATE_MS later, many at once.
 */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "handle.h"
#include "wire/view.h"

#define WATCH_MAX 8192
#define WATCH_LATE_MS 50
#define WATCH_OWN_MAX 3
#define WATCH_CONFIRM_MAX 2
#define WATCH_NAME (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
#define WATCH_ATTR (IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE)

/* What it is about, as a key. */
struct news_of {
	uint64_t dir;
	char name[FILES_NAME_MAX + 1];
};

struct news {
	struct news_of of;
	uint32_t flags;
	UT_hash_handle hh;
};

static int watch_fd = -1;
static unsigned int watch_count;
static struct folder *watched; /* by_wd */
static struct news *watch_news;
static bool watch_lost; /* anything may have changed */
static struct event *watch_readable, *watch_late;
static struct stream *watch_out;
static struct {
	int wd;
	uint32_t mask;
	char name[FILES_NAME_MAX + 1];
} own[WATCH_OWN_MAX];
static unsigned int owned;
static struct confirm {
	uint64_t dir, ino;
	char name[FILES_NAME_MAX + 1];
} confirms[WATCH_CONFIRM_MAX];
static unsigned int nconfirms;

bool watch_folder(struct folder *f)
{
	struct folder *other;
	struct statfs fs;
	int fd = folder_fd(f), wd;
	char path[32];

	if (f->wd >= 0)
		return true;
	/* other hosts may change it without this kernel noticing */
	if (watch_fd < 0 || watch_count >= WATCH_MAX || fd < 0 || fstatfs(fd, &fs) ||
	    view_several_hosts(fs.f_type))
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	wd = inotify_add_watch(watch_fd, path,
			       WATCH_NAME | WATCH_ATTR | IN_DELETE_SELF | IN_ONLYDIR);
	if (wd < 0)
		return false;
	HASH_FIND(by_wd, watched, &wd, sizeof(wd), other);
	if (other) { /* the same directory under its old name */
		HASH_DELETE(by_wd, watched, other);
		other->wd = -1;
		watch_count--;
		watch_note(other, "", FILES_NEWS_NAME);
	}
	f->wd = wd;
	HASH_ADD(by_wd, watched, wd, sizeof(f->wd), f);
	watch_count++;
	return true;
}

void watch_forget(struct folder *f)
{
	if (f->wd < 0)
		return;
	inotify_rm_watch(watch_fd, f->wd);
	HASH_DELETE(by_wd, watched, f);
	f->wd = -1;
	watch_count--;
}

void watch_own(uint64_t dir, const char *name, uint32_t flags)
{
	const struct folder *f = name ? folder_find(dir) : NULL;

	if (!name)
		owned = 0;
	if (!f || f->wd < 0 || owned == WATCH_OWN_MAX)
		return;
	own[owned].wd = f->wd;
	own[owned].mask = WATCH_ATTR | (flags & FILES_NEWS_NAME ? WATCH_NAME : 0);
	strcpy(own[owned++].name, name);
}

static bool watch_is_own(struct folder *f, const char *name, uint32_t mask)
{
	for (unsigned int i = 0; i < owned; i++)
		if (own[i].wd == f->wd && own[i].mask & mask && !strcmp(own[i].name, name))
			return true;
	/* the executor asks again about files that it has open for writing */
	return !(mask & WATCH_NAME) && handle_writes(f, name);
}

void watch_note(const struct folder *f, const char *name, uint32_t flags)
{
	struct news_of of;
	struct news *n;

	memset(&of, 0, sizeof(of));
	of.dir = f->id;
	strncpy(of.name, name, FILES_NAME_MAX);
	HASH_FIND(hh, watch_news, &of, sizeof(of), n);
	if (!n) {
		n = calloc(1, sizeof(*n));
		if (!n) {
			watch_lost = true;
			return;
		}
		n->of = of;
		HASH_ADD(hh, watch_news, of, sizeof(n->of), n);
	}
	n->flags |= flags;
}

static void watch_event(const struct inotify_event *e)
{
	const char *name = e->len ? e->name : "";
	struct folder *f;

	if (e->mask & IN_Q_OVERFLOW) {
		watch_lost = true;
		return;
	}
	HASH_FIND(by_wd, watched, &e->wd, sizeof(e->wd), f);
	if (!f)
		return;
	if (e->mask & IN_IGNORED) {
		HASH_DELETE(by_wd, watched, f);
		f->wd = -1;
		watch_count--;
		watch_note(f, "", FILES_NEWS_NAME);
	} else if (!watch_is_own(f, name, e->mask)) {
		watch_note(f, name,
			   e->mask & WATCH_NAME && *name ? FILES_NEWS_NAME : FILES_NEWS_ATTR);
	}
}

void watch_look(void)
{
	union {
		struct inotify_event event;
		char space[16384];
	} room;
	const struct inotify_event *e;
	ssize_t n;

	if (!watch_count)
		return;
	while ((n = read(watch_fd, &room, sizeof(room))) > 0)
		for (const char *at = room.space; at < room.space + n; at += sizeof(*e) + e->len) {
			e = (const struct inotify_event *)at;
			watch_event(e);
		}
}

/* A second name changes the file too, but inotify does not report that in the directory of the first. */
static void watch_second_name(message *m)
{
	int fd = folder_fd_of(m->dir);
	struct stat st;

	m->ino = m->offset = 0;
	if (!(m->flags & FILES_NEWS_NAME) || !m->name[0] || fd < 0 ||
	    fstatat(fd, m->name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) ||
	    S_ISDIR(st.st_mode) || st.st_nlink < 2)
		return;
	m->ino = st.st_ino;
	m->offset = st.st_dev;
}

void watch_confirm(uint64_t dir, const char *name, uint64_t ino)
{
	struct confirm *c = &confirms[nconfirms];

	if (nconfirms == WATCH_CONFIRM_MAX)
		return;
	c->dir = dir;
	c->ino = ino;
	strcpy(c->name, name);
	nconfirms++;
}

static void watch_confirm_one(const struct confirm *c)
{
	struct folder *f = folder_find(c->dir);
	int fd = f && f->wd >= 0 ? folder_fd(f) : -1;
	struct stat st;

	if (fd < 0)
		return;
	if (fstatat(fd, c->name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT))
		st.st_ino = 0;
	if (st.st_ino != c->ino)
		watch_note(f, c->name, FILES_NEWS_NAME);
}

void watch_confirm_all(void)
{
	for (unsigned int i = 0; i < nconfirms; i++)
		watch_confirm_one(&confirms[i]);
	nconfirms = 0;
}

void watch_tell(void)
{
	static message m;
	struct news *n, *next;

	m.op = FILES_NEWS;
	if (watch_lost) {
		m.dir = 0;
		m.name[0] = '\0';
		m.flags = FILES_NEWS_NAME;
		m.ino = 0;
		watch_lost = stream_put(watch_out, &m);
	}
	HASH_ITER(hh, watch_news, n, next) {
		m.dir = n->of.dir;
		strcpy(m.name, n->of.name);
		m.flags = n->flags;
		watch_second_name(&m);
		if (stream_put(watch_out, &m))
			watch_lost = true;
		HASH_DELETE(hh, watch_news, n);
		free(n);
	}
}

static void watch_on_readable(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval late = { 0, WATCH_LATE_MS * 1000 };

	event_add(watch_late, &late);
}

static void watch_on_late(evutil_socket_t fd, short what, void *arg)
{
	/* The executor cannot be told now: the kernel's queue has a bound. */
	if (stream_waiting(watch_out) > watch_out->most) {
		watch_on_readable(fd, what, arg);
		return;
	}
	watch_look();
	watch_tell();
	stream_flush(watch_out);
	event_add(watch_readable, NULL);
}

int watch_init(struct event_base *base, struct stream *out)
{
	watch_out = out;
	watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch_fd < 0)
		return 0; /* the user has too many instances: then the executor keeps nothing */
	watch_readable = event_new(base, watch_fd, EV_READ, watch_on_readable, NULL);
	watch_late = evtimer_new(base, watch_on_late, NULL);
	return watch_readable && watch_late ? event_add(watch_readable, NULL) : -ENOMEM;
}
