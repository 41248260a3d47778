/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file plan.h
 * What all planners share: refusals, and the limit on their time. Nothing here does
 * input or output, looks at a clock, or keeps a state of its own.
 *
 * Functions that read a problem return 0, -EINVAL with the refusal filled in, or -ENOMEM.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Why an input was refused. */
struct plan_refusal {
	size_t line;	 /**< from 1; 0: `where` says it, or the whole input is meant */
	char where[128]; /**< JSON path such as "$.tasks[3].work", or "" */
	char what[256];	 /**< a sentence without a full stop */
};

/** Fills in the refusal; `line` 0 or `where` NULL when the other says it. Returns -EINVAL. */
int plan_refuse(struct plan_refusal *refusal, size_t line, const char *where, const char *format,
		...) __attribute__((format(printf, 4, 5)));

/** The caller's clock and its wish to be told. All may be absent: then nothing ends a search early. */
struct plan_watch {
	double (*now)(void *ctx); /**< seconds, monotonic */
	/** Of `all` steps `done` are over. */
	void (*progress)(void *ctx, const char *what, uint64_t done, uint64_t all);
	void *ctx;
	double until; /**< of that clock; 0: no limit */
	bool ended;   /**< out: a search was ended by the limit, so another run may find another plan */
};

/** True once the limit is reached, and from then on. The clock is asked at each call. */
bool plan_watch_over(struct plan_watch *watch);
void plan_watch_progress(const struct plan_watch *watch, const char *what, uint64_t done,
			 uint64_t all);

#endif
