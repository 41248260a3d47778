/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Home's end of a job, with a source that another process reads, too, and sinks that may be slow. */
#ifndef UNIT_JOB_HOME_H
#define UNIT_JOB_HOME_H

#include "job_parties.h"

int party_home_message(void *ctx, const struct job_message *m);
void party_home_lost(void *ctx, enum job_state before);
void party_home_step(void);

#endif
