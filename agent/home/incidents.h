/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file incidents.h
 * Events that are kept in the history: what happened to this node, and to those that it knows, when
 * nobody watched. Those of tasks are in their rows; states and thresholds are too many.
 */
#ifndef AGENT_HOME_INCIDENTS_H
#define AGENT_HOME_INCIDENTS_H

struct agent;

/** To be called after history_init(). Without memory, or a history, none is kept. */
void incidents_init(struct agent *agent);
void incidents_exit(struct agent *agent);

#endif
