/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tape of bytes that all decisions of a sequence are read from. Its end is
 * written as it is reached, with random bytes: so a tape is a sequence, can be
 * played again, and a changed tape is a similar sequence.
 */
#ifndef FUZZ_TAPE_H
#define FUZZ_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TAPE_MAX 8192

struct tape {
	uint8_t bytes[TAPE_MAX];
	size_t len;
	size_t at;
	uint64_t *random; /* state of the generator; NULL: zeros after the end */
};

uint64_t random_next(uint64_t *state);

/* 0..n-1; the full range for n = 0 */
uint64_t tape_below(struct tape *tape, uint64_t n);
bool tape_one_in(struct tape *tape, unsigned int n);
void tape_fill(struct tape *tape, void *to, size_t n);

/* A new tape like @tape, with a piece of @other if that is not NULL. */
void tape_mutate(struct tape *to, const struct tape *tape, const struct tape *other,
		 uint64_t *random);

/* As a line of hexadecimal digits. tape_read: 1 read, 0 end, -1 malformed. */
void tape_write(const struct tape *tape, FILE *file);
int tape_read(struct tape *tape, FILE *file);

#endif
