/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file link_input.h  What one end of a job says to the other, as an input has it. */
#ifndef FUZZ_LINK_INPUT_H
#define FUZZ_LINK_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "input.h"
#include "job/end.h"

/** Bytes of the longest payload. */
#define LINK_INPUT_MAX (LINK_HEADER + JOB_MESSAGE_MAX)

/** How much of a message is the input's, and not 0. */
enum link_rich { LINK_PLAIN, LINK_RICH };

/** Small ones, and any. */
static inline uint64_t input_number(struct input *in)
{
	uint8_t b = input_byte(in);

	return b < 192 ? b : (uint64_t)input_byte(in) << (b & 63);
}

/**
 * The payload of a FRAME_LINK for this end that is right in form, perhaps with numbers that the other end cannot
 * have. Returns its bytes.
 */
size_t link_input(struct input *in, const struct job_end *e, enum link_rich rich,
		  uint8_t out[LINK_INPUT_MAX]);

#endif
