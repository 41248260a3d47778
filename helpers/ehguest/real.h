/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file real.h  Files that the program has itself, as the same open files as this process. */
#ifndef EHGUEST_REAL_H
#define EHGUEST_REAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "helpers/end/session.h"

struct real {
	int fd;
	uint32_t channel;
	bool told; /**< home knows that it is open */
	off_t offset; /**< as home knows it */
};

struct reals {
	struct session *session;
	unsigned int n;
	struct real all[JOB_FILES_MAX];
};

/** Opens a file that home has open, if it is the same here. Returns the program's descriptor, -EXDEV:
 *  it is another one, or -errno. */
int real_open(struct reals *all, const struct job_file *f, uint32_t channel);
int real_device(const struct job_file *f); /**< a device of memory; a descriptor or -errno */
/** Says which files are open here, before JOB_READY. */
void real_say(struct reals *all);
/** Says the offsets that the program has left. */
void real_tell(struct reals *all);
/** The program has ended: what it has locked is home's. */
void real_exited(struct reals *all);

#endif
