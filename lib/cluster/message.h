/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file message.h
 * Messages of the hierarchy (lib/eh/member.h) as JSON: the body of
 * POST /v1/control and of its answer. Nodes are written as codes.
 */
#ifndef CLUSTER_MESSAGE_H
#define CLUSTER_MESSAGE_H

#include <jansson.h>
#include "eh/member.h"

/** A new reference; NULL: no memory. */
json_t *message_to_json(const struct eh_topology *t, const struct eh_message *msg);

/** A message and the memory of its lists. */
struct message {
	struct eh_message body;
	uint64_t seen[EH_SEEN_MAX];
};
/** 0 or -EINVAL: malformed. eh_member_step() checks the values. */
int message_from_json(const struct eh_topology *t, const json_t *json, struct message *out);

#endif
