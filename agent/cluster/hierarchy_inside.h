/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file hierarchy_inside.h
 * The state of this node in the hierarchy, shared by hierarchy.c and hierarchy_role.c.
 */
#ifndef AGENT_CLUSTER_HIERARCHY_INSIDE_H
#define AGENT_CLUSTER_HIERARCHY_INSIDE_H

#include <stddef.h>
#include <stdint.h>
#include "cluster/hierarchy_counts.h"
#include "eh/eh.h"
#include "eh/member.h"

struct event;
struct hierarchy_ops;
struct hierarchy_pending;
struct peer;

struct hierarchy {
	struct eh_member *member;
	struct event *timer, *soon;
	struct peer *parent, *top_hint;
	struct eh_report told; /* to the member, last */
	struct hierarchy_counts counted;
	struct hierarchy_pending *pending;
	uint64_t seen[EH_SEEN_MAX]; /* guests that entered our load since the last report */
	size_t nseen;
	const struct hierarchy_ops *ops;
};

#endif
