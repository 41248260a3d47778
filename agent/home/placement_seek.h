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

struct placement;

/** With policy `idle`: whether it stays without a question, as a processor is free here, or all other nodes are
 *  slower. Then it has been decided. */
bool placement_seek_stays(struct placement *p);
/** Ends in found(), with p->to set, or in outcome_stays(), perhaps at once. */
void placement_seek(struct placement *p, void (*found)(struct placement *p));
/** The node that was found has refused: seeks another. False: enough were asked. */
bool placement_seek_again(struct placement *p, enum ehs_reason reason);

#endif
