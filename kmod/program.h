/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs by what tells one file from another, and a set of them: a hash table with
 * open addressing, at most half full. Nothing here has a lock, so that program_test.c
 * can call it.
 */
#ifndef _EHS_PROGRAM_H
#define _EHS_PROGRAM_H

#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/types.h>

/**
 * struct ehs_program - a program as it was at one moment
 * @ino: inode number
 * @sec: seconds of the inode's change time: a program that is written to gets another
 * @nsec: nanoseconds of it
 * @dev: device of the file system; 0 is none
 */
struct ehs_program {
	u64 ino;
	s64 sec;
	u32 nsec;
	u32 dev;
};

/**
 * struct ehs_program_set - a set of programs; never changed once others can see it
 * @rcu: frees it
 * @bits: it has 1 << @bits slots
 * @slots: its programs, each in the first slot that was free from that of its hash on;
 *	free ones have no device
 */
struct ehs_program_set {
	struct rcu_head rcu;
	unsigned int bits;
	struct ehs_program slots[];
};

/* Bits of a set for @n programs, 1 at least. */
static inline unsigned int ehs_program_bits(unsigned int n)
{
	return order_base_2(2 * n);
}

static inline bool ehs_program_equal(const struct ehs_program *a, const struct ehs_program *b)
{
	return a->ino == b->ino && a->sec == b->sec && a->nsec == b->nsec && a->dev == b->dev;
}

/* The slot with the program, or the free one where it belongs: there always is one. */
static inline unsigned int ehs_program_slot(const struct ehs_program_set *set,
					    const struct ehs_program *program)
{
	unsigned int at = hash_64(program->ino ^ (u64)program->dev << 32, set->bits);

	while (set->slots[at].dev && !ehs_program_equal(&set->slots[at], program))
		at = (at + 1) & ((1U << set->bits) - 1);
	return at;
}

/* Adds to a set that was zeroed; no more than it was made for. */
static inline void ehs_program_add(struct ehs_program_set *set, const struct ehs_program *program)
{
	set->slots[ehs_program_slot(set, program)] = *program;
}

static inline bool ehs_program_in(const struct ehs_program_set *set,
				  const struct ehs_program *program)
{
	return set->slots[ehs_program_slot(set, program)].dev;
}

#endif /* _EHS_PROGRAM_H */
