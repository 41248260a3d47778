/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file look.h  What an end of a job tells its agent of the program and of its directory. */
#ifndef HELPERS_END_LOOK_H
#define HELPERS_END_LOOK_H

#include <stdint.h>

#include "wire/frame.h"
#include "wire/seen.h"

#define LOOK_FRAME (FRAME_HEADER + SEEN_SIZE)

/** FRAME_SEEN, without waiting for a file system. A path that is not absolute is relative to `folder`. */
void look_make(const char *folder, const char *path, uint8_t out[LOOK_FRAME]);

#endif
