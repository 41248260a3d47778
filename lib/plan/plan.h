/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file plan.h
 * What all planners share: refusals and the limit on their time. The library has no input or
 * output, no clock and no global state.
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
	size_t line; /**< from 1; 0: see `where`, or the whole input is meant */
	char where[128]; /**< JSON path such as "$.tasks[3].work", or "" */
	char what[256]; /**< a sentence without a full stop */
};

/** Fills in the refusal; `line` is 0 or `where` is NULL if the other is given. Returns -EINVAL. */
int plan_refuse(struct plan_refusal *refusal, size_t line, const char *where, const char *format,
		...) __attribute__((format(printf, 4, 5)));

/** Room for one more of `count` elements of `each` bytes in an array that has room for `*room`: it, or one
 *  that has taken its place. NULL: no memory, and the array is as it was. */
void *plan_grow(void *array, size_t each, size_t count, size_t *room);

/** The caller's clock, time limit and progress display. All may be absent: no search ends early
 *  then. */
struct plan_watch {
	double (*now)(void); /**< seconds, monotonic */
	/** `done` of `all` steps are over. */
	void (*progress)(void *ctx, const char *what, uint64_t done, uint64_t all);
	void *ctx;
	double until; /**< of that clock; 0: no limit */
	/** out: the limit ended a search, so another run may find a different plan */
	bool ended;
};

/** True once the limit is reached, and from then on. Reads the clock at each call. */
bool plan_watch_over(struct plan_watch *watch);
void plan_watch_progress(const struct plan_watch *watch, const char *what, uint64_t done,
			 uint64_t all);

#endif
