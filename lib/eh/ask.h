/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file ask.h  A placement's way up to the controller that decides, and back. For lib/eh only. */
#ifndef EH_ASK_H
#define EH_ASK_H

#include "role.h"

/** EH_ME_ASK: a task of this node. */
void eh_ask_own(struct eh_member *m, const struct eh_member_event_ask *event);
/** EH_MSG_ASK of a child, or of a home in our group. */
void eh_ask_on_ask(struct eh_member *m, uint32_t from, const struct eh_message *msg);
/** EH_MSG_ANSWER: passes it on, or to the driver if home is here. */
void eh_ask_on_answer(struct eh_member *m, const struct eh_message *msg);
/** The task `id` was not placed on `to`, as `who` had decided: tells it, or drops our own grant. */
void eh_ask_failed(struct eh_member *m, uint64_t id, uint32_t to, const struct eh_probe *who);

#endif
