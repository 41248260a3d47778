/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a job of a gang (plan/gang/protocol.h) has, for tests. */
#ifndef UNIT_GANG_LOOK_H
#define UNIT_GANG_LOOK_H

#include "plan/gang/protocol.h"

/* Whether the job has this host now. */
static inline bool gang_job_has(const struct gang_job *job, uint32_t host, uint64_t now)
{
	for (size_t i = 0; i < job->nseats && job->state == GANG_RUNNING; i++)
		if (job->seats[i].host == host)
			return now < job->until[i];
	return false;
}

#endif
