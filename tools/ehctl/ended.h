/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file ended.h  A task of the history, as people read it: when it started, and how it ended. */
#ifndef EHCTL_ENDED_H
#define EHCTL_ENDED_H

#include <jansson.h>

#define ENDED_TEXT 24

/** When it started, in local time: of today without the date. `out` is used, or not. */
const char *ended_start(const json_t *task, char out[ENDED_TEXT]);
/** Its exit status, the signal that killed it, or what else became of it. */
const char *ended_how(const json_t *task, char out[ENDED_TEXT]);

#endif
