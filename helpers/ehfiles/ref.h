/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file ref.h  The file that a request is about, and its attributes. */
#ifndef EHFILES_REF_H
#define EHFILES_REF_H

#include <stdbool.h>
#include <sys/stat.h>
#include "helpers/common/stream.h"

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

/** The attributes for an answer. */
void ref_attr(struct files_attr *a, const struct stat *st);
/** Those of an open file. 0 or an errno. */
int ref_stat(int fd, struct files_attr *a);

#endif
