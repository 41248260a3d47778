/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file known.h  The nodes that a member knows of. For lib/eh only. */
#ifndef EH_KNOWN_H
#define EH_KNOWN_H

#include "role.h"

/** Where a node is among them, or would be: they are sorted by number. */
size_t eh_known_place(const struct eh_member *m, uint32_t node);
/** NULL: not known. The next eh_known_add() or eh_known_remove() moves them. */
struct known *eh_known_find(const struct eh_member *m, uint32_t node);
/** 0, also for one that is known, or -ENOMEM. */
int eh_known_add(struct eh_member *m, uint32_t node);
void eh_known_remove(struct eh_member *m, uint32_t node);
/** Something was heard of it. */
void eh_known_alive(struct eh_member *m, uint32_t node);
/** It is silent: it is not contacted for a while, each time for twice as long. */
void eh_known_suspect(struct eh_member *m, uint32_t node);

#endif
