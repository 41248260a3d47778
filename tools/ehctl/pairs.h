/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file pairs.h  `ehctl doctor --pairs`. */
#ifndef EHCTL_PAIRS_H
#define EHCTL_PAIRS_H

#include <stdbool.h>

/** Asks the agent and prints what is wrong. The exit code. */
int pairs_run(bool json);

#endif
