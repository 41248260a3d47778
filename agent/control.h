/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file control.h
 * Member and controller roles; what placements and guests need of it is in
 * agent.h.
 */
#ifndef AGENT_CONTROL_H
#define AGENT_CONTROL_H

#include <jansson.h>
#include "peer.h"

int control_init(void); /**< 0 or -ENOMEM */
void control_exit(void);
/** A link came up (peer->up) or went down (peer->down), or a pinned one could not be made. */
void control_peer_changed(struct peer *peer);
/** Configuration swapped. */
void control_reload(void);

/** The controller of our group as we see it; ourselves when no other is up. */
struct peer *control_controller(void);
/** Epoch of the threshold in force here. */
uint64_t control_epoch(void);
/** The threshold or its length was changed: reports it and tells those who watch. */
void control_threshold_set(void);

/** What the controller knows of the nodes: array as in `status --json`; NULL: we are not it. */
json_t *control_nodes(void);
/** This node as in `status --json`. */
json_t *control_own_node(void);

/** Handlers. */
json_t *control_on_report(struct peer *from, const json_t *body, int *status);
json_t *control_on_ask(struct peer *from, const json_t *body, int *status);
json_t *control_on_failed(struct peer *from, const json_t *body, int *status);
json_t *control_on_threshold(struct peer *from, const json_t *body, int *status);
json_t *control_on_nodes(struct peer *from, const json_t *body, int *status);
json_t *control_on_drain(struct peer *from, const json_t *body, int *status);

#endif
