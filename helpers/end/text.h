/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file text.h  The beginning of a file, as text. */
#ifndef HELPERS_END_TEXT_H
#define HELPERS_END_TEXT_H

#include <stddef.h>
#include <sys/types.h>

/** Reads what one read() gives, at most size - 1 bytes, without waiting for a writer; a NUL follows it. Their
 *  number, or -errno, as errno is then. */
ssize_t text_read(int folder, const char *path, char *text, size_t size);

#endif
