/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file failure.h  What is to fail in a run over messages, and when. */
#ifndef EHSIM_FAILURE_H
#define EHSIM_FAILURE_H

#include <stdbool.h>

#include "eh/topology.h"

#define FAILURES_MAX 64

enum failure_kind {
	FAILURE_NODE, /**< one node dies; any: a random one */
	FAILURE_TOP, /**< the node that is the top controller dies */
	FAILURE_CONTROLLER, /**< the node that controls this group at that time dies */
	FAILURE_GROUP, /**< all nodes of a group die */
	FAILURE_HALF, /**< those in the lower half of the group's codes die */
	FAILURE_CUT, /**< these nodes and all others do not hear each other for a time */
	FAILURE_BACK, /**< dead nodes of this group start again; any: all dead nodes */
};

struct failure {
	enum failure_kind kind;
	struct eh_code code; /**< of the node or group, unless `any` */
	bool any; /**< without a code */
	double at, until; /**< in mean inter-arrival times; `until` for cuts only */
};

/** Parses "node 0.3.7@100", "cut 0.1@50..90" and the like. NULL, or what is wrong with the text. */
const char *failure_parse(const char *text, const struct eh_topology *topology,
			  struct failure *out);

#endif
