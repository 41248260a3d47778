/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file run.h  The command behind `ehctl run`: the caller gets a session, in which execs are placed. */
#ifndef AGENT_CTL_RUN_H
#define AGENT_CTL_RUN_H

#include <jansson.h>
#include "ctl/socket.h"

/** Makes a session of the caller, if execs are intercepted, and replies. */
void run_start(struct ctl_conn *c, const json_t *request);

#endif
