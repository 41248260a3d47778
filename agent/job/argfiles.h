/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file argfiles.h
 * Files that a task's arguments name by absolute path. A program whose input lies in this host's
 * own /tmp must not run elsewhere, even if program and directory are the same there: compilers pass
 * such files to their parts all the time.
 *
 * Compared are the type, and of regular files the size and modification time. This finds files that
 * are not shared, and accepts files that both hosts have from the same package.
 */
#ifndef AGENT_JOB_ARGFILES_H
#define AGENT_JOB_ARGFILES_H

#include <stddef.h>
#include <stdint.h>
#include "wire/job.h"

/**
 * Encodes the payload of FRAME_NAMED, which the caller frees; *length 0: nothing is named. 0;
 * -ENOMEM; or -EXDEV if a pipe or socket is named: *path (in argv) is then its path. *payload is
 * NULL on error.
 */
int argfiles_encode(const struct job_spec *spec, uint8_t **payload, size_t *length,
		    const char **path);

/** Compares a payload's files with those here. 0; -EXDEV: *path (in payload) differs; -EPROTO. */
int argfiles_check(const uint8_t *payload, size_t length, const char **path);

#endif
