/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file named.h
 * Files that a task's arguments name by absolute path. A program whose input
 * lies in this host's own /tmp must not run elsewhere, however equal program
 * and folder are: compilers hand their parts such files all the time.
 *
 * What is compared is type, and for regular files size and time of the last
 * change: enough to find files that are not shared, and true for the files two
 * hosts have from the same packages.
 */
#ifndef AGENT_JOB_ARGFILES_H
#define AGENT_JOB_ARGFILES_H

#include <stddef.h>
#include <stdint.h>
#include "wire/job.h"

/** Payload of FRAME_NAMED, allocated; *length 0: nothing is named. 0, -ENOMEM, or
 *  -EXDEV when a pipe or socket is named, with its path in *path (in argv); then *payload is NULL. */
int argfiles_encode(const struct job_spec *spec, uint8_t **payload, size_t *length,
		    const char **path);

/** 0: all are the same here; -EXDEV: *path (in payload) is not; -EPROTO. */
int argfiles_check(const uint8_t *payload, size_t length, const char **path);

#endif
