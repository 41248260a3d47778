/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file end.h  An executor's end of a job: LAUNCH_START. */
#ifndef EHLAUNCH_END_H
#define EHLAUNCH_END_H

#include "request.h"

/** Whether a request of kind LAUNCH_START is whole. */
bool end_is_good(const struct request *r);
/** Forks an end, which answers. Returns only in the launcher: 0, or -errno: there is no process. */
int end_start(const struct request *r);

#endif
