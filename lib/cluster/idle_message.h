/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file idle_message.h
 * Messages about credits (lib/eh/idle.h) as JSON: the body of POST /v1/credit and
 * of its answer. Nodes are written as codes.
 */
#ifndef CLUSTER_IDLE_MESSAGE_H
#define CLUSTER_IDLE_MESSAGE_H

#include <jansson.h>
#include "eh/idle.h"

/** Largest life, number of a credit, and of a version or reign. */
#define IDLE_LIFE_MAX ((1ll << 43) - 1)
#define IDLE_NUMBER_MAX ((1ll << 62) - 1)
#define IDLE_HOLD_MAX_MS 60000

/** Returns NULL if out of memory. */
json_t *idle_message_to_json(const struct eh_topology *t, const struct eh_idle_message *msg);
/** Returns 0 or -EINVAL: a field is missing, of another type or out of its range. */
int idle_message_from_json(const struct eh_topology *t, const json_t *json,
			   struct eh_idle_message *out);

/** A credit, but for its node, which is who gets this. NULL: out of memory. */
json_t *idle_credit_to_json(const struct eh_credit *credit);
/** Returns 0 or -EINVAL. */
int idle_credit_from_json(const json_t *json, uint32_t node, struct eh_credit *out);

#endif
