/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file timeline.h  `ehctl history --plot`: a diagram of how many tasks ran away and stayed, over time. */
#ifndef EHCTL_TIMELINE_H
#define EHCTL_TIMELINE_H

#include <jansson.h>

/** Draws the tasks that match `ask` (as past_ask(); taken over) into an SVG file. An exit code. */
int timeline_draw(json_t *ask, const char *path);

#endif
