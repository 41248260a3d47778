/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file mounts.h  The file systems of this host that a view consists of. */
#ifndef AGENT_HOME_MOUNTS_H
#define AGENT_HOME_MOUNTS_H

#include <jansson.h>
#include <stdbool.h>

/** Appends the paths of all but the root. */
void mounts_list(json_t *paths);
/** Whether this is one of them, or the root. */
bool mounts_has(const char *path);

#endif
