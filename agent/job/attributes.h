/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file traits.h
 * What the kernel keeps of a process besides its ids, limits and signals: how
 * it is scheduled, its capabilities and the like. Read at home of the
 * stub's process, taken on by the executor's child.
 */
#ifndef AGENT_JOB_ATTRIBUTES_H
#define AGENT_JOB_ATTRIBUTES_H

#include <sys/types.h>
#include "wire/job.h"

struct agent;

/**
 * Fills in what the kernel says of this process, which must be a user's own.
 * What cannot be asked for leaves traits[JOB_TRAITS_KNOWN] at 0.
 */
void attributes_read(pid_t pid, uid_t uid, uint64_t traits[JOB_TRAITS]);

/*
 * In the child, and system calls only. 0, or -1 with errno. What an agent that
 * is not root may not give is left as it is.
 */
/** Scheduling, memory and all that needs no order. */
int attributes_take(struct agent *agent, const uint64_t traits[JOB_TRAITS], int nice);
/** Before the user is taken on, by root. */
int attributes_take_bounding(struct agent *agent, const uint64_t traits[JOB_TRAITS]);
/** After that, by an agent that was root. */
int attributes_take_capabilities(struct agent *agent, const uint64_t traits[JOB_TRAITS], uid_t uid);

#endif
