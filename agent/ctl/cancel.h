/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file cancel.h
 * `ehctl cancel`: which processes a task or a session is here. ehctl sends the signals, so that the
 * kernel decides who may.
 */
#ifndef AGENT_CTL_CANCEL_H
#define AGENT_CTL_CANCEL_H

#include <jansson.h>

struct ctl_conn;

/** Answers the request; this and the like fit ctl_request_fn. */
void cancel_request(struct ctl_conn *c, const json_t *request);

#endif
