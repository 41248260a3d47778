/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file readers.h  Who else can read what a descriptor reads. */
#ifndef EHSTUB_READERS_H
#define EHSTUB_READERS_H

#include <stdbool.h>
#include <sys/types.h>

/** Whether a process, other than this one and its witness (0: none), reads what this descriptor reads, or
 *  may do so and cannot be looked at. Ancestors count if `all`. */
bool readers_other(int fd, pid_t witness, bool all);

#endif
