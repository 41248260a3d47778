/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arithmetic of the load. Nothing here has a lock, a clock or global state, so
 * that load_test.c can call it.
 */
#ifndef _EHS_LOAD_MATH_H
#define _EHS_LOAD_MATH_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

/*
 * A sample costs some ten thousand instructions even on a host without tasks: a
 * timer, a worker, leaving the idle state and entering it again. So samples are
 * not frequent.
 */
#define EHS_LOAD_SAMPLE_MS 32
/* A sample's weight is 3/8: a step is followed to 94 % in 6 samples, 192 ms. */
#define EHS_LOAD_WEIGHT 3
#define EHS_LOAD_SHIFT 3
/* Fraction bits of the smoothed value, so that it really reaches its target. */
#define EHS_LOAD_FRACTION 10
#define EHS_LOAD_TASK (1000LL << EHS_LOAD_FRACTION)
/* After this many samples nothing is left of a whole task. */
#define EHS_LOAD_FADED 64
/* A late sample counts as several, up to this many. */
#define EHS_LOAD_LATE 10
/*
 * The walk over all threads should take no more than this part of a processor's
 * time: the longer it takes, the further apart samples are. This does not bound
 * the cost, because samples are never more than EHS_LOAD_LATE times
 * EHS_LOAD_SAMPLE_MS apart: a walk of more than 1.6 ms (some 47,000 threads on
 * a current machine) takes a larger part. Nor does the walk reschedule.
 */
#define EHS_LOAD_WALK_PART 200

/* Thousandths of a task from a smoothed value, rounded. */
static inline u32 ehs_load_round(s64 smoothed)
{
	return min_t(u64, (smoothed + (1LL << EHS_LOAD_FRACTION) / 2) >> EHS_LOAD_FRACTION,
		     U32_MAX);
}

/* Thousandths of a task from the number of tasks and the weight of each. */
static inline u32 ehs_load_weigh(u32 tasks, u32 weight)
{
	return min_t(u64, (u64)tasks * weight, U32_MAX);
}

/* The smoothed value after @samples more samples, all of @target. */
static inline s64 ehs_load_smooth(s64 smoothed, s64 target, unsigned int samples)
{
	while (samples--)
		smoothed += (target - smoothed) * EHS_LOAD_WEIGHT >> EHS_LOAD_SHIFT;
	return smoothed;
}

/* What is left of a whole task in the smoothed value after @samples samples. */
static inline s64 ehs_load_left(u32 samples)
{
	s64 left = EHS_LOAD_TASK;

	if (samples >= EHS_LOAD_FADED)
		return 0;
	while (samples--)
		left -= left * EHS_LOAD_WEIGHT >> EHS_LOAD_SHIFT;
	return left;
}

/* How many samples the time since the last one makes. */
static inline unsigned int ehs_load_samples(u64 elapsed_ns)
{
	const u32 sample_ns = EHS_LOAD_SAMPLE_MS * NSEC_PER_MSEC;

	return min_t(u64, EHS_LOAD_FADED, div_u64(elapsed_ns + sample_ns / 2, sample_ns));
}

/*
 * Busy processors, in thousandths, from the time all of them worked in
 * @elapsed_ns. The time since the last sample may be hours on many processors:
 * a thousand times that does not fit into 64 bits.
 */
static inline u32 ehs_load_busy(u64 busy_ns, u64 elapsed_ns, unsigned int cpus)
{
	u64 elapsed_us = max_t(u64, div_u64(elapsed_ns, NSEC_PER_USEC), 1);

	return min_t(u64, div64_u64(busy_ns, elapsed_us), cpus * 1000);
}

/* Milliseconds to the next sample when the walk over all threads takes @walk_ns. */
static inline unsigned int ehs_load_interval_ms(u64 walk_ns)
{
	return clamp_t(u64, div_u64(walk_ns * EHS_LOAD_WALK_PART, NSEC_PER_MSEC),
		       EHS_LOAD_SAMPLE_MS, EHS_LOAD_SAMPLE_MS * EHS_LOAD_LATE);
}

#endif /* _EHS_LOAD_MATH_H */
