// SPDX-License-Identifier: GPL-2.0-or-later
#include "limits.h"

#include <sched.h>
#include <stdio.h>

#include "wire/sched.h"

#define LIMITS_OOM_NONE 1000 /* added to each oom_score_adj on its way */

/* linux/ioprio.h */
enum {
	LIMITS_IO_SHIFT = 13,
	LIMITS_IO_CLASSES = 7, /* no kernel looks at more bits */
	LIMITS_IO_REAL_TIME = 1,
	LIMITS_IO_BEST_EFFORT = 2,
};

static uint64_t limits_reduce_io(uint64_t priority)
{
	uint64_t class = priority >> LIMITS_IO_SHIFT & LIMITS_IO_CLASSES;

	if (class == LIMITS_IO_REAL_TIME)
		class = LIMITS_IO_BEST_EFFORT;
	return class << LIMITS_IO_SHIFT | (priority & ((1u << LIMITS_IO_SHIFT) - 1));
}

/* Real time and deadlines would take processors from everybody here. */
static void limits_reduce_schedule(struct launch_start *q)
{
	uint64_t *t = q->traits;

	if (q->nice < 0)
		q->nice = 0;
	if (t[JOB_POLICY] != SCHED_BATCH && t[JOB_POLICY] != SCHED_IDLE)
		t[JOB_POLICY] = SCHED_OTHER;
	t[JOB_POLICY_FLAGS] = 0;
	t[JOB_PRIORITY] = 0;
	t[JOB_RUNTIME] = 0;
	t[JOB_DEADLINE] = 0;
	t[JOB_PERIOD] = 0;
	t[JOB_IOPRIO] = limits_reduce_io(t[JOB_IOPRIO]);
}

/* The launcher's own is that of the agent, which is not for guests. */
static void limits_reduce_oom(struct launch_start *q)
{
	uint64_t least;

	if (q->oom_score < 0)
		q->oom_score = 0;
	least = (uint64_t)q->oom_score + LIMITS_OOM_NONE;
	if (q->traits[JOB_OOM_SCORE] < least)
		q->traits[JOB_OOM_SCORE] = least;
}

static void limits_reduce_rlimits(struct launch_start *q, const uint64_t hard[JOB_RLIMITS])
{
	for (int i = 0; i < JOB_RLIMITS; i++)
		for (int j = 0; j < 2; j++)
			if (q->rlimit[i][j] > hard[i])
				q->rlimit[i][j] = hard[i];
}

void limits_reduce(struct launch_start *q, const uint64_t hard[JOB_RLIMITS], bool allow_root)
{
	if (!allow_root) {
		q->traits[JOB_CAP_INHERITABLE] = 0;
		q->traits[JOB_CAP_AMBIENT] = 0;
	}
	if (q->uid || !allow_root) {
		limits_reduce_schedule(q);
		limits_reduce_oom(q);
		limits_reduce_rlimits(q, hard);
		q->traits[JOB_SECUREBITS] = 0;
	}
	/* A view shows home's set-user-ID programs. */
	if (q->flags & LAUNCH_VIEW)
		q->flags |= LAUNCH_NO_NEW_PRIVS;
}

void limits_cpu(unsigned int percent, char out[LIMITS_CPU_TEXT])
{
	/* Microseconds in each tenth of a second, as systemd has it by default. */
	snprintf(out, LIMITS_CPU_TEXT, "%llu 100000", percent * 1000ull);
}
