// SPDX-License-Identifier: GPL-2.0-or-later
/* Headers of frames, and how a task ended. */

#include "frame.h"

#include <errno.h>

static const uint32_t frame_limits[FRAME_TYPES] = {
	[FRAME_JOB] = FRAME_JOB_MAX,
	[FRAME_NAMED] = FRAME_NAMED_MAX,
	[FRAME_REFUSED] = 8 + FRAME_TEXT_MAX,
	[FRAME_LINK] = FRAME_LINK_MAX,
	[FRAME_ATTACH] = FRAME_ATTACH_MAX,
	[FRAME_ATTACHED] = FRAME_ATTACH_MAX,
	[FRAME_DETACHED] = 0,
	[FRAME_GONE] = FRAME_TEXT_MAX,
	[FRAME_PAUSED] = 4,
	[FRAME_NOTE] = FRAME_ATTACH_MAX,
	[FRAME_NOTED] = 4,
	[FRAME_REQUEST] = FRAME_JSON_MAX,
	[FRAME_REPLY] = FRAME_JSON_MAX,
	[FRAME_EVENT] = FRAME_JSON_MAX,
	[FRAME_KEPT] = FRAME_ATTACH_MAX,
	[FRAME_START] = FRAME_START_MAX,
	[FRAME_CALLER] = FRAME_CALLER_MAX,
	[FRAME_ADMISSION] = FRAME_START_MAX,
	[FRAME_SEEN] = FRAME_SEEN_MAX,
};

uint32_t frame_limit(unsigned int type)
{
	return type < FRAME_TYPES ? frame_limits[type] : 0;
}

void frame_header(uint8_t out[FRAME_HEADER], enum frame_type type, uint32_t length)
{
	frame_put_u32(out, type);
	frame_put_u32(out + 4, length);
}

int frame_parse(const uint8_t in[FRAME_HEADER], enum frame_type *type, uint32_t *length)
{
	uint32_t word = frame_get_u32(in);

	/* The reserved bytes are the upper ones of this word. */
	if (word < FRAME_JOB || word >= FRAME_TYPES)
		return -EPROTO;
	*type = word;
	*length = frame_get_u32(in + 4);
	return *length > frame_limits[word] ? -EMSGSIZE : 0;
}

void frame_exit_encode(uint8_t out[FRAME_EXIT_SIZE], const struct frame_exit *x)
{
	const uint64_t all[] = { x->status, x->user_us, x->system_us, x->maxrss_kib,
				 x->minflt, x->majflt,	x->nvcsw,     x->nivcsw };

	for (int i = 0; i < 8; i++)
		frame_put_u64(out + 8 * i, all[i]);
}

int frame_exit_decode(struct frame_exit *x, const uint8_t *in, size_t length)
{
	uint64_t *all[] = { &x->status, &x->user_us, &x->system_us, &x->maxrss_kib,
			    &x->minflt, &x->majflt,  &x->nvcsw,	    &x->nivcsw };

	if (length != FRAME_EXIT_SIZE)
		return -EBADMSG;
	for (int i = 0; i < 8; i++)
		*all[i] = frame_get_u64(in + 8 * i);
	/* An exit status of 8 bits or a signal (and the core bit); nothing else ends a task. */
	if (x->status & ~0xffffull || (x->status & 0x7f && x->status >> 8) ||
	    (x->status & 0x7f) > 64)
		return -EBADMSG;
	return 0;
}
