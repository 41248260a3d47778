/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file hierarchy_counts.h  Messages of the hierarchy, by type. */
#ifndef AGENT_CLUSTER_HIERARCHY_COUNTS_H
#define AGENT_CLUSTER_HIERARCHY_COUNTS_H

#include <stdint.h>
#include "eh/member.h"

struct hierarchy_counts {
	uint64_t sent[EH_MSG_TYPES], received[EH_MSG_TYPES]; /**< answers with a body are counted */
};

#endif
