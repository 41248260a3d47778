/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file pairs.h  `ehctl doctor --pairs`: has each node test the others (pair_run.h), and says what is wrong. */
#ifndef AGENT_CTL_PAIRS_H
#define AGENT_CTL_PAIRS_H

#include <jansson.h>

struct ctl_conn;

void pairs_request(struct ctl_conn *c, const json_t *request);

#endif
