/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file handle.h  Files that the executor has open. */
#ifndef EHFILES_HANDLE_H
#define EHFILES_HANDLE_H

#include <stdbool.h>
#include "folder.h"

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
/** A file that was opened or created as `m` asks. 0 or ENOMEM. */
int handle_add(const message *m, int fd, const struct files_attr *attr);
/** A write has failed: all handles that have written to the file report it, because the kernel there writes pages
 *  of a mapping through any of them. */
void handle_failed(const struct handle *of, int error);
/** Forgets it. Returns whether no other one has its file open. */
bool handle_drop(struct handle *h);

#endif
