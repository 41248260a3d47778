/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file timing.h
 * When the steps of a remote task were, at its home and on its executor. Each host has a clock of its
 * own. Pure: the caller says what time it is.
 */
#ifndef CLUSTER_TIMING_H
#define CLUSTER_TIMING_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/** The steps. Those of one time are shown in this order. */
enum timing_step {
	TIMING_STUB, /**< the stub begins, as it says */
	TIMING_JOB,
	TIMING_ASKED, /**< by the module, before there is a stub */
	TIMING_LOOK,
	TIMING_LOOKED,
	TIMING_SEEK,
	TIMING_FOUND,
	TIMING_SENT, /**< the request for a place */
	TIMING_CAME, /**< it is on the executor */
	TIMING_LOOK_THERE,
	TIMING_LOOKED_THERE,
	TIMING_ADMITTED,
	TIMING_ANSWERED,
	TIMING_VERDICT, /**< for the module */
	TIMING_JOB_SENT, /**< if it was not behind the request */
	TIMING_JOB_CAME,
	TIMING_VIEW,
	TIMING_LAUNCH,
	TIMING_END,
	TIMING_LAUNCHED,
	TIMING_COMPARED,
	TIMING_LINKED,
	TIMING_READY_SAID,
	TIMING_READY,
	TIMING_GO,
	TIMING_GO_CAME,
	TIMING_EXECUTED,
	TIMING_STARTED,
	TIMING_EXITED,
	TIMING_EXIT,
	TIMING_ENDED,
	TIMING_OVER,
	TIMING_GONE,
	TIMING_STEPS
};

/** Microseconds of a host's monotonic clock, by step. 0: it was not, or is not known. */
struct timing {
	uint64_t us[TIMING_STEPS];
};

/** A step, and when it was on home's clock; without one of home, on the executor's. */
struct timing_line {
	enum timing_step step;
	uint64_t us;
};

/** Whether it is a step on the executor. */
bool timing_is_there(enum timing_step step);
/** The word for a step in JSON, a sentence, and the process whose clock says when it was. */
const char *timing_name(enum timing_step step);
const char *timing_text(enum timing_step step);
const char *timing_process(enum timing_step step);

/** A process of a user tells when it was: that counts if it is between the step `after` and now. */
void timing_told(struct timing *t, enum timing_step step, uint64_t us, enum timing_step after,
		 uint64_t now);

/** The executor's steps, in microseconds since the first of them: an object that the caller owns. */
json_t *timing_to_json(const struct timing *there);
/** The same from another node: what it does not say, or says beyond `most` microseconds, is not known.
 *  Returns whether it says anything. */
bool timing_from_json(struct timing *there, const json_t *steps, uint64_t most);

/**
 * Puts the steps of both in order, at most TIMING_STEPS; returns how many. The executor's clock is set
 * so that no message arrives before it was sent, in the middle of what is left: `*within` is how far it
 * may be wrong, -1 if that is not known.
 */
unsigned int timing_lines(const struct timing *home, const struct timing *there,
			  struct timing_line *out, int64_t *within);

#endif
