/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file ehfiles.h
 * Home's side of a view: serves one file system, from a directory down, to the
 * ehview of one executor. It runs with the rights of one user; the kernel decides what
 * is allowed.
 *
 *   main.c    requests in their order, and attributes for answers
 *   folder.c  the directories that the executor has numbered, with a bounded number of descriptors
 *   watch.c   changes in them: inotify, except for changes that requests made
 *   handle.c  open files and their locks
 *   names.c   operations on names and attributes
 */
#ifndef EHFILES_H
#define EHFILES_H

#include <sys/stat.h>
#include <uthash.h>
#include "helpers/common/stream.h"

typedef struct files_message message;

/* ---- main.c ---- */

extern struct stream out;
extern struct event_base *base;
void files_attr_of(struct files_attr *a, const struct stat *st);
/** The attributes of an open file. 0 or an errno. */
int files_stat(int fd, struct files_attr *a);

/* ---- folder.c ---- */

struct folder {
	uint64_t id, parent, ino;
	char *name;
	int fd, wd; /**< -1: none */
	struct folder *older, *newer; /**< among those with a descriptor */
	UT_hash_handle hh, by_wd;
};

/** The root. If it cannot be opened, each request says so. */
int folder_init(const char *path);
int folder_know(const message *m);
void folder_forget(uint64_t id);
struct folder *folder_find(uint64_t id);
/** A descriptor (O_PATH), valid until the next call; or -errno. */
int folder_fd(struct folder *f);
int folder_fd_of(uint64_t id);
/** As openat(2), for a name in a directory; but what is mounted there belongs to another server, or to
 *  none: /proc has the memory of processes. A descriptor, or -1 with errno. */
int folder_openat(int dir, const char *name, int flags, mode_t mode);
/** A request has renamed `name` in `dir`. */
void folder_moved(uint64_t dir, const char *name, uint64_t to, const char *as);

/* ---- watch.c ---- */

int watch_init(void);
/** Whether changes in it are reported from now on. */
bool watch_folder(struct folder *f);
void watch_forget(struct folder *f);
/** The request under way makes such a change (FILES_NEWS_NAME, FILES_NEWS_ATTR) of this name itself, and
 *  its answer says so; at most three names. Another process may have made one too: after a change of
 *  the name names_confirm() finds out. Without a name: the request is done. */
void watch_own(uint64_t dir, const char *name, uint32_t flags);
/** Notes all changes until now, except those of watch_own(). */
void watch_look(void);
void watch_note(const struct folder *f, const char *name, uint32_t flags);
/** Sends what was noted; to be called before any answer. */
void watch_tell(void);

/* ---- handle.c ---- */

struct handle {
	uint32_t id;
	int fd, error; /**< errno of a write */
	bool writes;
	uint64_t dev, ino, dir;
	char name[FILES_NAME_MAX + 1];
	UT_hash_handle hh;
};

struct handle *handle_find(uint32_t id);
/** Whether the file of this name is open for writing. */
bool handle_writes(struct folder *f, const char *name);
int handle_open(const message *m, message *a);
int handle_create(const message *m, message *a);
int handle_read(const message *m, message *a);
int handle_write(const message *m, message *a);
int handle_flush(const message *m, message *a);
int handle_fsync(const message *m, message *a);
int handle_close(const message *m, message *a);
int handle_readdir(const message *m, message *a);
int handle_lock(const message *m, message *a);
int handle_flock(const message *m, message *a);
int handle_fallocate(const message *m, message *a);

/* ---- names.c ---- */

#define REF_PATH 32

/** The file that a request is about, as a descriptor: that of an open file, or a new one (O_PATH). */
struct ref {
	int fd;
	bool close;
	char path
		[REF_PATH]; /**< a path to it in /proc, for calls that need one; not for symbolic links */
};

/** 0 or an errno. */
int ref_open(struct ref *r, const message *m);
void ref_close(struct ref *r);

/** After the answer: if the name does not lead to this file (0: to none), another process has changed it
 *  too, and that is noted; at most two names. */
void names_confirm(uint64_t dir, const char *name, uint64_t ino);
/** The answer was sent: does so. */
void names_confirm_all(void);

int names_list(const message *m, message *a);
int names_look(const message *m, message *a);
int names_stat(const message *m, message *a);
int names_set(const message *m, message *a);
int names_readlink(const message *m, message *a);
int names_make(const message *m, message *a);
int names_link(const message *m, message *a);
int names_unlink(const message *m, message *a);
int names_rename(const message *m, message *a);
int names_statfs(const message *m, message *a);
int names_access(const message *m, message *a);
int names_xattr(const message *m, message *a);

#endif
