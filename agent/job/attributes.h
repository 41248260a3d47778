/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file attributes.h
 * Attributes of a process besides ids and signals, such as hard limits, scheduling and capabilities, as
 * home reads them from the stub's process. The executor's end takes them on: helpers/ehlaunch.
 */
#ifndef AGENT_JOB_ATTRIBUTES_H
#define AGENT_JOB_ATTRIBUTES_H

#include <stdbool.h>
#include <sys/types.h>
#include "wire/job.h"

/** A task stays at home if the agent cannot read these of its process. */
struct attributes_who {
	uint32_t loginuid; /**< of audit */
	bool no_new_privs;
	int32_t nice;
	uint64_t hard[JOB_RLIMITS]; /**< limits; ~0 for none */
};

/**
 * Reads them of the process that `pid` names now, and its further attributes into `traits`, unless that is NULL: if they cannot be
 * read, traits[JOB_TRAITS_KNOWN] is 0. The traits that the kernel tells only to the process itself are input, as the stub has told them.
 * 0, or -errno: it has ended, or is not `uid`'s.
 */
int attributes_read(pid_t pid, uid_t uid, struct attributes_who *out, uint64_t traits[JOB_TRAITS]);

#endif
