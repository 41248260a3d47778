/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unread requests: what was sent to an agent for execs that wait no more, and not
 * answered. The messages may still be in its socket, where they use up room and its
 * time, so their places are not free: else an exec that is killed as soon as it waits
 * would cost its user nothing. An agent that never answers has them back after a while.
 * Not counted: what a socket that is registered again was sent twice. Nothing here has
 * a lock or a clock, so that unread_test.c can call it.
 */
#ifndef _EHS_UNREAD_H
#define _EHS_UNREAD_H

#include <linux/string.h>
#include <linux/time64.h>
#include <linux/types.h>

#include "bucket.h"

/* They are forgotten after this at the earliest, and twice this at the latest. */
#define EHS_UNREAD_NS (10ULL * NSEC_PER_SEC)

/**
 * struct ehs_unread - unread requests of an agent; all 0 at the start
 * @of: their number by bucket of user, see ehs_node_bucket(): [0] those that came
 *	since @turned_ns, [1] those of the EHS_UNREAD_NS before
 * @all: the sums of these
 * @turned_ns: when [0] became [1], monotonic
 */
struct ehs_unread {
	u16 of[2][EHS_BUCKETS];
	u32 all[2];
	u64 turned_ns;
};

static inline void ehs_unread_turn(struct ehs_unread *unread, u64 now_ns)
{
	const s64 since_ns = now_ns - unread->turned_ns;

	if (since_ns < (s64)EHS_UNREAD_NS)
		return;
	if (since_ns >= 2 * (s64)EHS_UNREAD_NS) {
		*unread = (struct ehs_unread){ .turned_ns = now_ns };
		return;
	}
	memcpy(unread->of[1], unread->of[0], sizeof(unread->of[1]));
	memset(unread->of[0], 0, sizeof(unread->of[0]));
	unread->all[1] = unread->all[0];
	unread->all[0] = 0;
	unread->turned_ns += EHS_UNREAD_NS;
}

/**
 * ehs_unread_add - an exec waits no more for a request that the agent has not answered
 * @unread: of the agent
 * @bucket: of its user
 * @now_ns: monotonic time
 */
static inline void ehs_unread_add(struct ehs_unread *unread, u32 bucket, u64 now_ns)
{
	ehs_unread_turn(unread, now_ns);
	if (unread->of[0][bucket] == U16_MAX)
		return;
	unread->of[0][bucket]++;
	unread->all[0]++;
}

/**
 * ehs_unread_answered - the agent answers a request for which no exec waits
 * @unread: of the agent
 * @bucket: that it is of, as its cookie says
 */
static inline void ehs_unread_answered(struct ehs_unread *unread, u32 bucket)
{
	const unsigned int i = unread->of[1][bucket] ? 1 : 0;

	if (!unread->of[i][bucket])
		return;
	unread->of[i][bucket]--;
	unread->all[i]--;
}

/* How many there are of a bucket. */
static inline u32 ehs_unread_of(struct ehs_unread *unread, u32 bucket, u64 now_ns)
{
	ehs_unread_turn(unread, now_ns);
	return unread->of[0][bucket] + unread->of[1][bucket];
}

/* How many there are of all. */
static inline u32 ehs_unread_all(struct ehs_unread *unread, u64 now_ns)
{
	ehs_unread_turn(unread, now_ns);
	return unread->all[0] + unread->all[1];
}

#endif /* _EHS_UNREAD_H */
