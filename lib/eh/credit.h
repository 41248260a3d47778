/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file credit.h
 * Credits for processors: an extension of paper 4 in the manner of join idle queue
 * (Lu et al. 2011). A node of c processors that has t tasks gives c - t credits of
 * tier 0, for free processors, and of tier 1 for a second task on each (one task
 * ahead): (k+1)c - t of tier k, at least 0 and at most c. The holder of a credit may
 * put one task there. A credit has a number that is never used again, so that it is
 * accepted once at most, however often messages about it arrive. Pure.
 */
#ifndef EH_CREDIT_H
#define EH_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#define EH_TIERS 2
/** Most numbers between the oldest and the newest credit of a tier; fewer processors have credits. */
#define EH_CREDIT_WINDOW 64
#define EH_CREDIT_PROCESSORS (EH_CREDIT_WINDOW / 2)

struct eh_credit {
	uint32_t node;
	unsigned int tier;
	uint64_t life; /**< of the node: greater after each start */
	uint64_t serial;
};

/** The credits first..end-1 but those whose bits are set in `void_` (bit 0: first). */
struct eh_credit_range {
	uint64_t first, end, void_;
};

/** All that a node gives, as its controller is told. */
struct eh_offer {
	uint64_t life;
	uint64_t version; /**< a later one of the same life has a greater number */
	struct eh_credit_range tiers[EH_TIERS];
};

/** A node's own credits. */
struct eh_purse {
	unsigned int processors, tasks;
	struct eh_offer offer; /**< what the controller is to know */
	struct {
		uint64_t bound; /**< those below are taken, as the controller said; 0: not known */
		uint64_t since; /**< when it said so */
	} taken[EH_TIERS];
};

/** Of a node without tasks. `life` is greater after each start of it. */
void eh_purse_begin(struct eh_purse *p, uint64_t life, unsigned int processors);
/** Tasks that the node has now: gives more credits, or takes some back. Returns whether that changed. */
bool eh_purse_tasks(struct eh_purse *p, unsigned int tasks);
/** A task has come with this credit. True: it is good, the task counts from now, and nobody can use the
 *  credit again. */
bool eh_purse_accept(struct eh_purse *p, const struct eh_credit *credit);
/** Gives new credits for this one, which nobody will use. */
void eh_purse_return(struct eh_purse *p, const struct eh_credit *credit);
/** All credits lose their value, and new ones take their places: there is a new controller. */
void eh_purse_renew(struct eh_purse *p);
/** The controller has let all of a tier below `bound` be taken. */
void eh_purse_taken(struct eh_purse *p, unsigned int tier, uint64_t bound, uint64_t now);
/** Those that were taken `lease` ago and never used are replaced. Returns whether there were any. */
bool eh_purse_expire(struct eh_purse *p, uint64_t now, uint64_t lease);

/** Tasks of a load in thousandths of a task, rounded. */
uint64_t eh_credit_tasks(uint64_t load);
/** The bounds by which a kernel that knows no credits asks for each exec that finds no free processor,
 *  which the node's own bounds T and A let stay: those of a sender from a load of c - 1/2 tasks on
 *  (eh_credit_tasks()), in thousandths of a task. Lower ones stay as they are. */
void eh_credit_bounds(unsigned int processors, uint32_t *threshold, uint32_t *length);

/** The first number from `from` on that has value; false: none. */
bool eh_credit_next(const struct eh_credit_range *range, uint64_t from, uint64_t *serial);
/** How many from `from` on have value. */
unsigned int eh_credit_count(const struct eh_credit_range *range, uint64_t from);

#endif
