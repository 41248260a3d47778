/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file pipes.h
 * What a guest gets as descriptors 0-2 for those its task has at home.
 */
#ifndef AGENT_EXECUTOR_PIPES_H
#define AGENT_EXECUTOR_PIPES_H

#include <stdint.h>

/**
 * A pipe for each, the terminal for a terminal, /dev/null for /dev/null, nothing for closed ones (flags of
 * struct job_spec). All are -1 before; the guest's ends go to its[], our
 * non-blocking ones to ours[]. 0 or -errno; what is open then is the caller's to close.
 */
int pipes_open(uint32_t flags, int terminal, int its[3], int ours[3]);

#endif
