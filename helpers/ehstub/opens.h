/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file opens.h  What the task has open beyond its usual descriptors. */
#ifndef EHSTUB_OPENS_H
#define EHSTUB_OPENS_H

#include <stdbool.h>
#include <stdint.h>

#include "job/message.h"
#include "wire/job.h"

/** What the task has open beyond its usual descriptors, and the descriptors that lead there. */
struct opens {
	uint32_t usual; /**< bit n: descriptor n of 0-2 is open, and not here */
	bool terminal; /**< one of these is the controlling terminal */
	uint32_t nfiles, ndescriptors;
	struct job_file files[JOB_FILES_MAX]; /**< file i has channel JOB_CHANNEL_FILES + i */
	int fds[JOB_FILES_MAX]; /**< one descriptor of each */
	uint8_t uses[JOB_CHANNELS]; /**< by a source and a sink */
	bool there[JOB_FILES_MAX]; /**< the executor has opened it */
	uint8_t locks[JOB_FILES_MAX]; /**< LOCK_SH or LOCK_EX, which the task has left; 0: none */
	struct job_descriptor descriptors[JOB_DESCRIPTORS_MAX];
	char **environment; /**< of the program there; NULL: ours */
	bool tokens; /**< there are some of make's jobserver */
	bool made_up; /**< those that the task has kept */
	const char *trouble; /**< why the task cannot be carried, and the descriptor */
	int culprit;
	int64_t lock_at; /**< try again then */
	int64_t lock_until; /**< 0: not tried yet */
};

/** Looks at all descriptors, before we have any of our own. False: `trouble` says what cannot be
 *  carried. */
bool opens_look(struct opens *o);
/** A descriptor that leads to this channel. False: there are too many, which is the `trouble`. */
bool opens_put(struct opens *o, int fd, uint32_t channel);
/** A source or a sink uses this channel. */
void opens_use(struct opens *o, uint32_t channel);
/** It is closed; with the last use of the channel the descriptors that lead there are, too. */
void opens_close(struct opens *o, uint32_t channel);

#endif
