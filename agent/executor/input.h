/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file reader.h  Whether somebody waits for input. */
#ifndef AGENT_EXECUTOR_INPUT_H
#define AGENT_EXECUTOR_INPUT_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * Whether a descendant of this process waits in a call that reads or waits for
 * a descriptor, or may (what it does cannot be seen).
 */
bool input_waits(pid_t ancestor);

#endif
