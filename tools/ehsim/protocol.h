/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file protocol.h  What the agents' protocol did in runs over messages. */
#ifndef EHSIM_PROTOCOL_H
#define EHSIM_PROTOCOL_H

#include <jansson.h>

#include "eh/member.h"

/** Counts of one run, or their sums over several. Times are in mean inter-arrival times. */
struct protocol {
	uint64_t messages[EH_MSG_TYPES]; /**< sent, by type */
	uint64_t at_top; /**< of them, to and from the node that is the top controller */
	uint64_t asked; /**< arrivals at senders */
	uint64_t home, away; /**< where tasks were placed */
	uint64_t reserved; /**< placements tried elsewhere, of two messages each */
	uint64_t late; /**< ran at home because no answer came in time */
	uint64_t lost; /**< with their home or executor */
	uint64_t nowhere; /**< arrived at a dead node */
	uint64_t killed; /**< nodes */
	double orphaned; /**< time without a controller: mean of the nodes, */
	double longest; /**< and the longest of one node (of sums: of all runs) */
	double time; /**< length of the run */
};

void protocol_add(struct protocol *to, const struct protocol *from);
/** The member "protocol" of the document. `sums` are over `runs` runs. NULL: no memory. */
json_t *protocol_json(const struct protocol *sums, uint64_t runs);
/** The same as text. */
void protocol_print(const struct protocol *sums, uint64_t runs);

#endif
