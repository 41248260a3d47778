/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file attributes.h
 * Attributes of a process besides ids, limits and signals, such as scheduling and capabilities.
 * Home reads them from the stub's process; the executor's child takes them on.
 */
#ifndef AGENT_JOB_ATTRIBUTES_H
#define AGENT_JOB_ATTRIBUTES_H

#include <sys/types.h>
#include "wire/job.h"

struct agent;

/**
 * Reads the attributes of a process that belongs to `uid`. If they cannot be read,
 * traits[JOB_TRAITS_KNOWN] stays 0. SECUREBITS and SUBREAPER are input too: the stub told them.
 */
void attributes_read(pid_t pid, uid_t uid, uint64_t traits[JOB_TRAITS]);

/*
 * The following run in the child and make system calls only. They return 0, or -1 with errno. What
 * an agent without root's rights may not set stays as it is.
 */
/** Scheduling, memory and everything whose order does not matter. */
int attributes_take(struct agent *agent, const uint64_t traits[JOB_TRAITS], int nice);
/** As root, before the change of user. */
int attributes_take_bounding(struct agent *agent, const uint64_t traits[JOB_TRAITS]);
/** After the change of user, if the agent was root. */
int attributes_take_capabilities(struct agent *agent, const uint64_t traits[JOB_TRAITS], uid_t uid);

#endif
