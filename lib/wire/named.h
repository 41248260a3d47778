/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file named.h
 * Files that a task's arguments name by absolute path: the payload of FRAME_NAMED. A program whose
 * input lies in this host's own /tmp must not run elsewhere, even if program and directory are the
 * same there: compilers pass such files to their parts all the time.
 *
 * Compared are the type, and of regular files the size and modification time. This finds files that
 * are not shared, and accepts files that both hosts have from the same package. The two ends of a job
 * look at the files (helpers/end/names.h); here is only what they say. No I/O, and nothing but libc.
 */
#ifndef WIRE_NAMED_H
#define WIRE_NAMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Entries of a list: each costs a stat() and perhaps a round trip. Enough for a linker's command. */
#define NAMED_MAX 128

struct named {
	uint32_t type; /**< S_IFMT of its mode */
	uint64_t size, mtime_ns; /**< 0 unless it is a regular file */
	const char *path;
};

/**
 * The path in "/x", "-I/x", "--name=/x", "if=/x", "@/x", "a:/x", as part of `arg`; NULL: none. Relative
 * paths depend on the working directory, which is compared anyway.
 */
const char *named_path(const char *arg);
/** Writes an entry. Returns its bytes, 0: there is no room. */
size_t named_put(uint8_t *out, size_t room, const struct named *n);
/** Reads the entry at *at, which goes on to the next. 1; 0: there is none; -EBADMSG. */
int named_next(const uint8_t **at, const uint8_t *end, struct named *n);
/**
 * Reads a whole list. 0; -EBADMSG; or -EXDEV if a pipe or socket is named, which may be visible
 * elsewhere too, but what is written to it arrives only here: *path is then its path, in the list.
 */
int named_check(const uint8_t *list, size_t length, const char **path);

#endif
