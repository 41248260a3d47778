/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file watchers.h
 * Who watches events (`ehctl watch`) hears of them, but not of tasks of others.
 */
#ifndef AGENT_CTL_WATCHERS_H
#define AGENT_CTL_WATCHERS_H

struct agent;

/** From now on, until watchers_exit(); the local socket is there for all that time. */
void watchers_init(struct agent *agent);
void watchers_exit(struct agent *agent);

#endif
