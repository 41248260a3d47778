/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file credit.h
 * Credits for processors: an extension of paper 4 in the manner of join idle queue
 * (Lu et al. 2011). A node offers a row of numbered credits. Each lets one task come,
 * and is used in the order of the row: with c processors and t tasks the first is for
 * the task t+1, the next for t+2, and so on. The tier of a credit is how many tasks
 * each processor has by then: 0, a processor is free; 1, the task shares one; and so
 * on. So whoever takes the credit of the lowest tier finds the least loaded node, also
 * if many take credits before a single task has arrived. A number is never used again,
 * so a credit is accepted once at most, however often messages about it arrive. Pure.
 */
#ifndef EH_CREDIT_H
#define EH_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#define EH_TIERS 16 /**< a node takes no task by credit if each processor has as many */
#define EH_CREDITS 32 /**< that a node offers at a time */
/** Most numbers between the oldest and the newest credit. */
#define EH_CREDIT_WINDOW 64

struct eh_credit {
	uint32_t node;
	unsigned int
		tier; /**< as its controller has worked it out: the node has at most this many */
	uint64_t life; /**< of the node: greater after each start */
	uint64_t serial;
};

/** The credits first..end-1 but those whose bits are set in `void_` (bit 0: first). */
struct eh_credit_range {
	uint64_t first, end, void_;
};

/** All that a node offers, as its controller is told. */
struct eh_offer {
	uint64_t life;
	uint64_t version; /**< a later one of the same life has a greater number */
	uint32_t tasks, processors; /**< that it has; processors at least 1 */
	struct eh_credit_range range;
};

/** A node's own credits. */
struct eh_purse {
	struct eh_offer offer; /**< what the controller is to know */
	uint64_t told_end; /**< of the range, in that version */
	struct {
		uint64_t bound; /**< those below are taken, as the controller said; 0: not known */
		uint64_t since; /**< when it said so */
	} taken;
};

/** Of a node without tasks. `life` is greater after each start of it. */
void eh_purse_begin(struct eh_purse *p, uint64_t life, unsigned int processors);
/** Tasks that the node has now. */
void eh_purse_tasks(struct eh_purse *p, unsigned int tasks);
/** A task has come with this credit. True: it is good, the task counts from now, and nobody can use the
 *  credit again. False: there are more tasks here than it says, or it has no value. */
bool eh_purse_accept(struct eh_purse *p, const struct eh_credit *credit);
/** Gives a new credit for this one, which nobody will use. */
void eh_purse_return(struct eh_purse *p, const struct eh_credit *credit);
/** All credits lose their value, and new ones take their places: there is a new controller. */
void eh_purse_renew(struct eh_purse *p);
/** The controller has let all below `bound` be taken. */
void eh_purse_taken(struct eh_purse *p, uint64_t bound, uint64_t now);
/** Those that were taken `lease` ago and never used are replaced. */
void eh_purse_expire(struct eh_purse *p, uint64_t now, uint64_t lease);

/** Tasks of a load in thousandths of a task, rounded. */
uint64_t eh_credit_tasks(uint64_t load);

/** Whether a node may send such an offer. */
bool eh_offer_is_sound(const struct eh_offer *offer);
/** The first number from `from` on that has value, and the tier of its credit; EH_TIERS: there is none. */
unsigned int eh_offer_next(const struct eh_offer *offer, uint64_t from, uint64_t *serial);
/** How many of a tier have value, from `from` on. */
unsigned int eh_offer_count(const struct eh_offer *offer, uint64_t from, unsigned int tier);

#endif
