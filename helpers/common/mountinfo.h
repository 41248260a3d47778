/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file mountinfo.h  What is mounted, by its device number. Nothing but libc, and no printf(): the stub has it. */
#ifndef COMMON_MOUNTINFO_H
#define COMMON_MOUNTINFO_H

#include <stddef.h>
#include <sys/types.h>

/**
 * Writes type and source of the file system with this device number, with a blank between, as far as they fit.
 * Returns the length of the whole; 0: it is not mounted where this process sees it; or -errno.
 */
int mountinfo_find(dev_t device, char *out, size_t size);

#endif
