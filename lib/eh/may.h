/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file may.h  Who may say what: a member for itself, a controller for its group. For lib/eh only. */
#ifndef EH_MAY_H
#define EH_MAY_H

#include "role.h"

/** Whether a node with this code can ever have reason to send this valid message to us. The driver
 *  knows the code from the sender's certificate. */
bool eh_may_say(const struct eh_member *m, uint32_t from, const struct eh_message *msg);
/** Whether it may answer what we or a node below us have asked: only the controller above was. */
bool eh_may_answer(const struct eh_member *m, uint32_t from);

#endif
