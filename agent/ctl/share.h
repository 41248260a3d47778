/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file share.h  The command `slots`: how many jobs a build may run now (`ehctl run --jobserver`). */
#ifndef AGENT_CTL_SHARE_H
#define AGENT_CTL_SHARE_H

#include <jansson.h>
#include "ctl/socket.h"

/** Replies with the number of jobs, and when to ask again. */
void share_request(struct ctl_conn *c, const json_t *request);

#endif
