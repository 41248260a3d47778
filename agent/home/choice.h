/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file choice.h
 * The node that was chosen for a placement will not run it: the choice is undone, and that node perhaps
 * avoided.
 */
#ifndef AGENT_HOME_CHOICE_H
#define AGENT_HOME_CHOICE_H

#include <linux/ehsched.h>
#include <stdbool.h>

struct peer;
struct placement;

/** Whether a refusal is about the node, not about this task or its user. */
bool choice_blames(enum ehs_reason reason);
/** Does not choose it for a while, which doubles. */
void choice_avoid(struct peer *peer);
/** Tells the controller that decided on p->to, or has the credit that led there back. */
void choice_undo(struct placement *p);

#endif
