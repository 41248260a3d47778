/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file input.h
 * Whether a program waits for terminal input.
 */
#ifndef AGENT_EXECUTOR_INPUT_H
#define AGENT_EXECUTOR_INPUT_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * Whether a descendant of this process waits in a system call that reads or polls a descriptor, or
 * may do so because its state cannot be seen.
 */
bool input_waits(pid_t ancestor);

#endif
