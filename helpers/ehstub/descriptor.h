/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file descriptor.h  Descriptors of the task, used without waiting. */
#ifndef EHSTUB_DESCRIPTOR_H
#define EHSTUB_DESCRIPTOR_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define DESCRIPTOR_NAME 32 /**< bytes of "/proc/self/fd/N" */

/** How a descriptor is used without waiting, and without a change for others that share it. */
enum kind {
	KIND_OWN, /**< opened again: our own open file, non-blocking */
	KIND_SOCKET,
	KIND_FILE, /**< regular file or block device: always ready */
	KIND_OTHER, /**< is asked with poll() each time */
};

const char *descriptor_name(int fd, char name[DESCRIPTOR_NAME]); /**< in /proc */
/**
 * descriptor_leads - Whether a descriptor of a process leads to this file
 * @fds: its /proc/PID/fd, which can be listed though the process has more rights
 *
 * Return: 1, 0, or -errno: it cannot be told.
 */
int descriptor_leads(DIR *fds, const struct dirent *entry, const struct stat *it);
/** Opens a descriptor again where that helps, at its number. */
enum kind descriptor_adopt(int fd);
/** Prepares it for a program again: our own open file blocks, as programs expect. */
void descriptor_restore(int fd, enum kind kind);
bool descriptor_is_master(int fd); /**< of a pseudo-terminal */
ssize_t descriptor_read(int fd, enum kind kind, uint8_t *to, size_t room); /**< n or -errno */
ssize_t descriptor_write(int fd, enum kind kind, const uint8_t *data, size_t n);

#endif
