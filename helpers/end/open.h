/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file open.h  Open files as wire/job.h says them, and as this host has them. */
#ifndef HELPERS_END_OPEN_H
#define HELPERS_END_OPEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "wire/job.h"

/** Moves a descriptor above 2, where the task has none of its usual ones; -1 stays -1. */
int open_above_2(int fd);
/** JOB_OPEN_… of this descriptor; 0: it is only a name of a file (O_PATH). */
uint32_t open_flags(int fd);
/** O_… for open(), of these JOB_OPEN_…. */
int open_mode(uint32_t flags);
/** The path of the device of memory (null, zero …) with this minor number; NULL: another one, which only its own
 *  host has. */
const char *open_device(uint64_t minor);
/** Whether this is such a device. */
bool open_is_device(const struct stat *st);
/** The channel of the file of tokens of make's jobserver that is read (JOB_OPEN_READ), or written; 0: there is none,
 *  or more than one. */
uint32_t open_tokens(const struct job_file *files, uint32_t n, uint32_t way);

#endif
