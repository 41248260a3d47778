/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file walk.h
 * The threads of all descendants of this process.
 */
#ifndef EHGUEST_WALK_H
#define EHGUEST_WALK_H

#include <stdbool.h>

/** A thread; tid 0: there may be others that are not found. True: no more are needed. */
typedef bool walk_thread(void *ctx, long pid, long tid);

/** Whether one of these calls has returned true. Each process comes before its children. */
bool walk_descendants(walk_thread *see, void *ctx);

#endif
