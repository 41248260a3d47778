/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file pipes.h
 * A guest's descriptors 0-2, in place of those that its task has at home.
 */
#ifndef AGENT_EXECUTOR_PIPES_H
#define AGENT_EXECUTOR_PIPES_H

#include <stdint.h>

/**
 * Opens a pipe for each descriptor, `terminal` for a terminal, /dev/null for /dev/null, and nothing
 * for closed ones (see the flags of struct job_spec). The guest's ends go to its[], our
 * non-blocking ones to ours[]; all must be -1 before. 0 or -errno. The caller closes what is open,
 * also after an error.
 */
int pipes_open(uint32_t flags, int terminal, int its[3], int ours[3]);

#endif
