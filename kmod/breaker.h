/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Circuit breaker: whether it is worth asking an agent. Each exec that waits in
 * vain costs its caller the whole time limit, so after a few in a row the agent
 * is not asked for a while. Then one exec tries; the others go on at once until
 * it has an answer, or should have had one. Nothing here has a lock or a clock, so
 * that breaker_test.c can call it.
 */
#ifndef _EHS_BREAKER_H
#define _EHS_BREAKER_H

#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

/* This many time-outs in a row, with no answer between, open the breaker. */
#define EHS_BREAKER_MISSES 3
/* It stays open for this many time limits, doubled each time a try fails. */
#define EHS_BREAKER_LIMITS 10
#define EHS_BREAKER_MIN_NS (1ULL * NSEC_PER_SEC)
#define EHS_BREAKER_MAX_NS (60ULL * NSEC_PER_SEC)

/**
 * struct ehs_breaker - what is known of an agent's answers; all 0 at the start
 * @misses: time-outs since the last answer
 * @pause_ns: how long it was open last, 0 if it is closed
 * @until_ns: when the next exec may try, if it is open
 * @try_until_ns: when another one may though one tries, which should have ended by
 *	then; 0 if none does
 * @hurried: a pause was cut short since it opened
 */
struct ehs_breaker {
	u32 misses;
	u64 pause_ns;
	u64 until_ns;
	u64 try_until_ns;
	bool hurried;
};

/**
 * ehs_breaker_admits - whether an exec may ask
 * @breaker: breaker
 * @now_ns: monotonic time
 * @limit_ns: how long the exec will wait
 * @try: set if the exec is the one that tries; it must end with
 *	ehs_breaker_answered(), ehs_breaker_missed() or ehs_breaker_left()
 */
static inline bool ehs_breaker_admits(struct ehs_breaker *breaker, u64 now_ns, u64 limit_ns,
				      bool *try)
{
	*try = false;
	if (!breaker->pause_ns)
		return true;
	if (now_ns < breaker->try_until_ns || now_ns < breaker->until_ns)
		return false;
	/* it may also sleep for a file system, out of reach of its limit */
	breaker->try_until_ns = now_ns + 2 * limit_ns;
	*try = true;
	return true;
}

/*
 * The agent has answered, but nobody waits for that any more: it lives, so the
 * next exec may try. But once only: an agent that is always a little late would let
 * every exec wait.
 */
static inline void ehs_breaker_lives(struct ehs_breaker *breaker, u64 now_ns)
{
	if (!breaker->pause_ns || breaker->hurried || now_ns >= breaker->until_ns)
		return;
	breaker->hurried = true;
	breaker->until_ns = now_ns;
}

/* The agent has answered an exec that waits: closes the breaker. */
static inline void ehs_breaker_answered(struct ehs_breaker *breaker)
{
	*breaker = (struct ehs_breaker){};
}

/**
 * ehs_breaker_missed - an exec has waited in vain
 * @breaker: breaker
 * @now_ns: monotonic time
 * @limit_ns: how long the exec has waited
 * @try: from ehs_breaker_admits()
 *
 * Return: whether the breaker has just opened.
 */
static inline bool ehs_breaker_missed(struct ehs_breaker *breaker, u64 now_ns, u64 limit_ns,
				      bool try)
{
	if (breaker->misses < EHS_BREAKER_MISSES)
		breaker->misses++;
	/* those that began to wait before it opened change nothing any more */
	if (breaker->misses < EHS_BREAKER_MISSES || (breaker->pause_ns && !try))
		return false;
	breaker->pause_ns =
		breaker->pause_ns ? breaker->pause_ns * 2 : limit_ns * EHS_BREAKER_LIMITS;
	breaker->pause_ns = clamp_t(u64, breaker->pause_ns, EHS_BREAKER_MIN_NS, EHS_BREAKER_MAX_NS);
	breaker->until_ns = now_ns + breaker->pause_ns;
	breaker->try_until_ns = 0;
	return true;
}

/* The exec that tried has ended its wait for another reason: the next one tries. */
static inline void ehs_breaker_left(struct ehs_breaker *breaker, bool try)
{
	if (try)
		breaker->try_until_ns = 0;
}

#endif /* _EHS_BREAKER_H */
