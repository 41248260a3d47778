/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file profile.h
 * What the ranks of a parallel job computed and sent each other, as examples/profile.c measures it,
 * and the problem of placing them on hosts between which messages cost differently.
 *
 * A message of N bytes over a link takes seconds + per_byte * N. The volume of a pair is what its
 * messages would take on a link with the mean of both; the speed of a link is how much faster than
 * that the messages of the whole job are on it. For links whose two parts are in proportion, and for
 * pairs whose messages are of one size, this is exact.
 */
#ifndef PLAN_ASSIGN_PROFILE_H
#define PLAN_ASSIGN_PROFILE_H

#include <jansson.h>

#include "assign.h"

/** What two ranks sent each other, in both directions. */
struct assign_pair {
	uint32_t a, b; /**< a < b */
	double messages, bytes;
};

struct assign_profile {
	uint32_t ranks;
	double *work; /**< seconds that each computed */
	struct assign_pair *pairs;
	size_t npairs;
	double messages, bytes; /**< of all pairs */
};

struct assign_link {
	double seconds, per_byte; /**< of a message, and of each byte of it */
};

/** Hosts with the same number of slots. */
struct assign_hosts {
	const char *const *names;
	uint32_t n, slots;
	const struct assign_link *links; /**< [a * n + b]; only a < b is read */
};

/** Reads a profile: 0, -EINVAL with the refusal, or -ENOMEM. End it with assign_profile_end(). */
int assign_profile_read(const char *text, size_t length, struct assign_profile *profile,
			struct plan_refusal *refusal);
void assign_profile_end(struct assign_profile *profile);

/** The ranks, as input of assign_read_json(). Behind them are as many tasks without work as fill the
 *  hosts evenly, and each task has `extra` seconds more work: with more than the cost of any even
 *  plan, no plan that is not even is best. NULL: no memory. */
json_t *assign_profile_problem(const struct assign_profile *profile,
			       const struct assign_hosts *hosts, double extra);

#endif
