/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file api.h
 * Requests of ehctl (docs/protocol.md).
 */
#ifndef AGENT_API_H
#define AGENT_API_H

#include "ctl/socket.h"

/** Serves a request; local_reply() or local_watch() follows, perhaps later. */
void api_request(struct local_conn *c, const json_t *request);
json_t *api_error(const char *what, const char *why, bool usage);

/** doctor.c: the checks of `doctor --json`. */
json_t *doctor_report(void);

#endif
