/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file placement_seek.h
 * Seeks a node for a placement: with policy `idle` a free processor here, then a credit; else, or if
 * there is none, the thresholds.
 */
#ifndef AGENT_HOME_PLACEMENT_SEEK_H
#define AGENT_HOME_PLACEMENT_SEEK_H

#include <linux/ehsched.h>
#include <stdbool.h>

struct peer;
struct placement;

/** With policy `idle`: whether it stays without a question, as a processor is free here, or all other nodes are
 *  slower. Then it has been decided. */
bool placement_seek_stays(struct placement *p);
/** Ends in placement_ready() or placement_stay(), perhaps at once. */
void placement_seek(struct placement *p);
/** The node that was found has refused: seeks another. False: enough were asked. */
bool placement_seek_again(struct placement *p, enum ehs_reason reason);
/** Whether a refusal is about the node, not about this task or its user. */
bool placement_seek_blames(enum ehs_reason reason);
/** Does not choose it for a while, which doubles. */
void placement_seek_avoid(struct peer *peer);
/** p->to will not run it: the controller that decided on it is told. */
void placement_seek_undo(struct placement *p);

#endif
