/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file seek.h  A member's search for a parent, and its rank. For lib/eh only. */
#ifndef EH_SEEK_H
#define EH_SEEK_H

#include "role.h"

/** Starts again without a parent. `first` is asked first; EH_NO_NODE: no node in particular. */
void eh_seek_begin(struct eh_member *m, uint32_t first);
/** Asks the next nodes when it is time; leads the group when none of them lives. */
void eh_seek_step(struct eh_member *m);
/** EH_MSG_ORDER: `from` has taken our report. */
void eh_seek_on_order(struct eh_member *m, uint32_t from, const struct eh_message *msg);
/** EH_MSG_REDIRECT: `from` does not lead us, another node may. */
void eh_seek_on_redirect(struct eh_member *m, uint32_t from, const struct eh_message *msg);
/** EH_MSG_CLAIM: `from` leads its group of this level, hence all its groups below. */
void eh_seek_on_claim(struct eh_member *m, uint32_t from, const struct eh_message *msg);
/** The node ended or cannot be reached: the parent perhaps, or one that was asked. */
void eh_seek_gone(struct eh_member *m, uint32_t node);

#endif
