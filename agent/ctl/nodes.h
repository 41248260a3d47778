/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file nodes.h
 * Requests about one node, which may be another one: drain, undrain, guests (docs/protocol.md).
 */
#ifndef AGENT_CTL_NODES_H
#define AGENT_CTL_NODES_H

#include <jansson.h>
#include <sys/types.h>

struct ctl_conn;

/** No new tasks go there, or again. */
void nodes_drain(struct ctl_conn *c, const json_t *request);
void nodes_undrain(struct ctl_conn *c, const json_t *request);
/** What runs there for others. */
void nodes_guests(struct ctl_conn *c, const json_t *request);
/** The user who has logged in, which is not root for a user of sudo. */
uid_t nodes_login(const struct ctl_conn *c);
/** The same as "ann@build1". The caller owns it. */
json_t *nodes_caller(const struct ctl_conn *c);

#endif
