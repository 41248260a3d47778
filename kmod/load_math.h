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
/*
 * Samples may take this part of a processor's time, of each index: a sample of
 * c ns is paid after c * EHS_LOAD_PART ns, and the next begins only then. So at
 * 100 ns for each thread, a host with a million threads is walked every 20 s.
 */
#define EHS_LOAD_PART 200
/*
 * Time that was not used is saved, up to this: what an interrupt or a hypervisor
 * took in the middle of a short sample does not delay the next.
 */
#define EHS_LOAD_CREDIT_NS (5LL * NSEC_PER_MSEC)
/*
 * A sample is charged with no more than this, and this for each of its threads, which is
 * several times what they take. Beyond that the clock has what others took: a hypervisor,
 * interrupts, or tasks of a higher priority.
 */
#define EHS_LOAD_MOST_NS (2ULL * NSEC_PER_MSEC)
#define EHS_LOAD_MOST_THREAD_NS 3000ULL
/*
 * A sample is paid after this at the latest. A sample that takes more than the
 * EHS_LOAD_PART of it, 300 ms, takes a larger part.
 */
#define EHS_LOAD_PAUSE_NS (60LL * NSEC_PER_SEC)

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

/* Tasks of a load in thousandths of one, rounded. */
static inline u32 ehs_load_tasks(u32 load)
{
	return load / 1000 + (load % 1000 >= 500);
}

/*
 * The smoothed value after @samples more samples, all of @target. Of a value
 * that is older than EHS_LOAD_FADED samples nothing is left.
 */
static inline s64 ehs_load_smooth(s64 smoothed, s64 target, unsigned int samples)
{
	if (samples >= EHS_LOAD_FADED)
		return target;
	while (samples--)
		smoothed += (target - smoothed) * EHS_LOAD_WEIGHT >> EHS_LOAD_SHIFT;
	return smoothed;
}

/* What the smoothed value has left of the start of a task, a whole one, after @samples samples. */
static inline s64 ehs_load_left(u32 samples)
{
	s64 left = EHS_LOAD_TASK;

	if (samples >= EHS_LOAD_FADED)
		return 0;
	while (samples--)
		left -= left * EHS_LOAD_WEIGHT >> EHS_LOAD_SHIFT;
	return left;
}

/*
 * The part, in 1/1024, of the last @elapsed_ns in which a task wanted a processor, and so of the
 * samples in which it was seen.
 */
static inline u32 ehs_load_part(u64 wanted_ns, u64 elapsed_ns)
{
	return min_t(u64, div64_u64(wanted_ns, max_t(u64, elapsed_ns >> 10, 1)), 1024);
}

/* How many samples the time since the last one makes: a late one counts as several. */
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

/* Time that a processor has worked between two looks; its clock may be read late. */
static inline u64 ehs_load_worked(u64 before, u64 now)
{
	return now > before ? now - before : 0;
}

/* The credit after @elapsed_ns more. */
static inline s64 ehs_load_earn(s64 credit, u64 elapsed_ns)
{
	return min_t(s64, credit + (s64)div_u64(elapsed_ns, EHS_LOAD_PART), EHS_LOAD_CREDIT_NS);
}

/* What a sample of @threads is charged that took @took_ns by the clock. */
static inline u64 ehs_load_charge(u64 took_ns, u32 threads)
{
	return min(took_ns, EHS_LOAD_MOST_NS + threads * EHS_LOAD_MOST_THREAD_NS);
}

/* The credit after a sample that is charged @cost_ns. */
static inline s64 ehs_load_spend(s64 credit, u64 cost_ns)
{
	return max_t(s64, credit - (s64)min_t(u64, cost_ns, EHS_LOAD_PAUSE_NS),
		     -(EHS_LOAD_PAUSE_NS / EHS_LOAD_PART));
}

/* Nanoseconds until the next sample may begin; the last one began @since_ns ago. */
static inline u64 ehs_load_wait(s64 credit, u64 since_ns)
{
	const u64 period_ns = EHS_LOAD_SAMPLE_MS * NSEC_PER_MSEC;
	u64 rest_ns = since_ns < period_ns ? period_ns - since_ns : 0;

	return max_t(u64, rest_ns, credit < 0 ? -credit * EHS_LOAD_PART : 0);
}

#endif /* _EHS_LOAD_MATH_H */
