/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executor's end of a job, with a program that reads, writes, stops and ends. */
#ifndef UNIT_JOB_PROGRAM_H
#define UNIT_JOB_PROGRAM_H

#include "job_parties.h"

int party_away_message(void *ctx, const struct job_message *m);
void party_away_lost(void *ctx, enum job_state before);
void party_away_step(void);

#endif
