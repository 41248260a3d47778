/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file gangs.h
 * Requests of `ehctl gang`: a gang belongs to the connection that asked for it, and ends with it.
 */
#ifndef AGENT_CTL_GANGS_H
#define AGENT_CTL_GANGS_H

#include <jansson.h>

struct ctl_conn;

/** Asks hosts whether they would take part: replies with their offers. */
void gangs_ask(struct ctl_conn *c, const json_t *request);
/** Occupies the hosts that ehctl has chosen. */
void gangs_occupy(struct ctl_conn *c, const json_t *request);
/** Releases them; so does the end of the connection. */
void gangs_release(struct ctl_conn *c, const json_t *request);

#endif
