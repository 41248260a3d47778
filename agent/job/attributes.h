/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file attributes.h
 * Attributes of a process besides ids, limits and signals, such as scheduling and capabilities.
 * Home reads them from the stub's process; the executor's child takes them on.
 */
#ifndef AGENT_JOB_ATTRIBUTES_H
#define AGENT_JOB_ATTRIBUTES_H

#include <stdbool.h>
#include <sys/types.h>
#include "wire/job.h"

struct agent;

/**
 * Reads the attributes of a process that belongs to `uid`. If they cannot be read,
 * traits[JOB_TRAITS_KNOWN] stays 0. SECUREBITS and SUBREAPER are input too: the stub told them.
 */
void attributes_read(pid_t pid, uid_t uid, uint64_t traits[JOB_TRAITS]);

/**
 * Reads audit's login user id and no_new_privs of the process that `pid` names now. 0, or -errno:
 * it has ended, or is not `uid`'s.
 */
int attributes_identify(pid_t pid, uid_t uid, uint32_t *loginuid, bool *no_new_privs);

/*
 * The following run in the child and make system calls only. They return 0, or -1 with errno. What
 * an agent without root's rights may not set stays as it is.
 */
/** Scheduling, memory and everything whose order does not matter. */
int attributes_take(struct agent *agent, const uint64_t traits[JOB_TRAITS], int nice);
/** The login user id, before the change of user. Fails rather than leave another one. */
int attributes_take_login(uint32_t loginuid);
/** As root, before the change of user. */
int attributes_take_bounding(struct agent *agent, const uint64_t traits[JOB_TRAITS]);
/** After the change of user, if the agent was root. */
int attributes_take_capabilities(struct agent *agent, const uint64_t traits[JOB_TRAITS], uid_t uid);

#endif
