/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file folder.h  The directories that the executor has numbered, with a bounded number of descriptors. */
#ifndef EHFILES_FOLDER_H
#define EHFILES_FOLDER_H

#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <uthash.h>
#include "helpers/common/stream.h"

struct folder {
	uint64_t id, parent, ino;
	char *name;
	int fd, wd; /**< -1: none */
	TAILQ_ENTRY(folder) opened; /**< among those with a descriptor */
	UT_hash_handle hh, by_wd;
};

/** The root. If it cannot be opened, each request says so. */
int folder_init(const char *path);
int folder_know(const message *m);
void folder_forget(struct folder *f);
struct folder *folder_find(uint64_t id);
/** A descriptor (O_PATH), valid until the next call; or -errno. */
int folder_fd(struct folder *f);
int folder_fd_of(uint64_t id);
/** As openat(2), for a name in a directory; but what is mounted there belongs to another server, or to
 *  none: /proc has the memory of processes. A descriptor, or -1 with errno. */
int folder_openat(int dir, const char *name, int flags, mode_t mode);
/** A request has renamed `name` in `dir`. */
void folder_moved(uint64_t dir, const char *name, uint64_t to, const char *as);

#endif
