/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file reap.h
 * Waits for children that were killed, without a wait of the loop: one that is in a file system that
 * does not answer ends when that does, or never.
 */
#ifndef AGENT_BASE_REAP_H
#define AGENT_BASE_REAP_H

#include <sys/types.h>

struct agent;

/** This child of ours was killed, or is about to end; its number is ours until it is reaped. */
void reap(struct agent *agent, pid_t pid);
/** Those that have not ended yet are left to init. */
void reap_exit(struct agent *agent);

#endif
