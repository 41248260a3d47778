/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file api.h
 * Requests of ehctl (docs/protocol.md).
 */
#ifndef AGENT_CTL_COMMANDS_H
#define AGENT_CTL_COMMANDS_H

#include "ctl/socket.h"

/** Serves a request; ctl_reply() or ctl_watch() follows, perhaps later. */
void commands_request(struct ctl_conn *c, const json_t *request);
json_t *commands_error(const char *what, const char *why, bool usage);

/** doctor.c: the checks of `doctor --json`. */
json_t *doctor_report(void);

#endif
