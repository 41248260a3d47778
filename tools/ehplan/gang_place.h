/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file gang_place.h  `ehctl gang --profile` and `--assign`: who talks to whom, and which rank runs where. */
#ifndef EHPLAN_GANG_PLACE_H
#define EHPLAN_GANG_PLACE_H

#include <jansson.h>
#include <time.h>

#include "gang_run.h"
#include "plan/assign/profile.h"

/** A profile, and the plan by it. All 0 at the beginning. */
struct gang_place {
	struct assign_profile profile;
	uint32_t *at; /**< of each rank, a place in `chosen` of the run */
	double cost,
		in_order; /**< seconds of the host that costs most: by the plan, and in the order of hosts */
	struct assign_link *links;
};

/** 0 or an exit code after a message. */
int gang_place_read(struct gang_place *place, const char *path);
/** Measures the links between the chosen hosts, plans, and makes run->place `place`. 0 or an exit code
 *  after a message. */
int gang_place_make(struct gang_run *run, struct gang_place *place);
/** What `--json` prints of it; NULL: no memory. */
json_t *gang_place_json(const struct gang_run *run, const struct gang_place *place);
void gang_place_end(struct gang_place *place);

/** The file that a job is to write. All 0 at the beginning. */
struct gang_profile {
	char *path;
	struct timespec before; /**< when a file of that name was changed before the job */
};

/** Sets the variables that tell the job. 0 or an exit code after a message. */
int gang_profile_begin(struct gang_profile *profile, const char *path);
/** Whether the job has written it, and it is good. 0 or an exit code after a message. */
int gang_profile_check(const struct gang_profile *profile);
void gang_profile_end(struct gang_profile *profile);

#endif
