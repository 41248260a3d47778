/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file owner.h  The request of `ehctl owner` (docs/protocol.md). */
#ifndef AGENT_CTL_OWNER_H
#define AGENT_CTL_OWNER_H

#include <jansson.h>

struct ctl_conn;

/** Answers it: the owner needs this node, does not, or asks what holds. */
void owner_request(struct ctl_conn *c, const json_t *request);

#endif
