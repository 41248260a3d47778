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

/** Returns NULL if out of memory. */
json_t *message_to_json(const struct eh_topology *t, const struct eh_message *msg);

/** A message with the memory of its lists. */
struct message {
	struct eh_message body;
	uint64_t seen[EH_SEEN_MAX];
};
/** Returns 0 or -EINVAL: a field is missing, of another type or out of its range. What it means is
 *  checked by eh_member_step(). */
int message_from_json(const struct eh_topology *t, const json_t *json, struct message *out);

#endif
