/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file input.h  An input as a sequence of choices; behind its end all of them are 0. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

struct input {
	const uint8_t *at;
	size_t left;
};

/** Ends the run, and says what did not hold. */
#define must(holds) assert(holds)

static inline uint8_t input_byte(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

/** As many bytes as the next two say, or as are left. */
const uint8_t *input_bytes(struct input *in, size_t *length);

#endif
