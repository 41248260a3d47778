/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file commands.h
 * Requests of ehctl (docs/protocol.md).
 */
#ifndef AGENT_CTL_COMMANDS_H
#define AGENT_CTL_COMMANDS_H

#include "ctl/socket.h"

/** Handles a request. ctl_reply() or ctl_watch() must follow, perhaps later. */
void commands_request(struct ctl_conn *c, const json_t *request);

#endif
