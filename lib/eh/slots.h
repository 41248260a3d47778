/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file slots.h
 * How many jobs builds may run at a time: the processors of a cluster, or of a node, that
 * no other work uses, shared out fairly. Users get equal shares; what one does not want
 * the others get, and a user's share is divided among the user's builds in the same way. Each
 * build has one slot in any case, because nobody can keep it from running one job. Pure.
 */
#ifndef EH_SLOTS_H
#define EH_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** of one build, and so of its pipe, which takes as many bytes at once */
#define EH_SLOTS_MAX 4096
#define EH_SLOTS_DAMP_MS 1000 /**< work of others counts as its mean over about this time */

/** What a build, or all builds of a user on a node, have and want. */
struct eh_slots_claim {
	uint32_t user;
	unsigned int builds; /**< at least 1 */
	unsigned int used; /**< slots that have a job now */
	unsigned int wants; /**< slots that would have one */
	unsigned int granted; /**< the answer, at least `builds` */
	void *build; /**< the caller's; a claim is found by it when they are sorted */
};

/** Shares out `slots`; sorts the claims by user. False: no memory, and each has its least. */
bool eh_slots_share(unsigned int slots, struct eh_slots_claim *claims, size_t n);

/** Load that is not of builds: it moves slowly, as the load is known late. Zero to begin. */
struct eh_slots_others {
	int64_t mean; /**< load - slots in use, in thousandths of a task */
	uint64_t at;
	bool known;
};

/** Slots of processors with this capacity and load (thousandths of a task), of which `used` are builds'. */
unsigned int eh_slots_free(struct eh_slots_others *others, uint64_t capacity, uint64_t load,
			   uint64_t used, uint64_t now);

/** How many to share out if `free` are free on so many hosts: some more, whose jobs are ready when a
 *  processor becomes free, so that none waits for a job to start. One for each host, because a job that
 *  is ready on one host is not on another, or one for each eight if these are more; at most `free`. */
unsigned int eh_slots_offer(unsigned int free, unsigned int hosts);

#endif
