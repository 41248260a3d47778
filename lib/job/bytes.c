// SPDX-License-Identifier: GPL-2.0-or-later
#include "job/bytes.h"

#include <errno.h>

#define BYTES_LEAST 4096u

size_t job_bytes_put(struct job_link *l, const uint8_t *bytes, size_t n)
{
	size_t put = 0, some, room;

	while (put < n) {
		some = n - put < BYTES_MAX ? n - put : BYTES_MAX;
		room = job_link_room(l);
		/* A few bytes now would make a frame of their own; more room comes. */
		if (some > room && room < BYTES_LEAST)
			break;
		if (some > room)
			some = room;
		if (!job_link_put(l, BYTES_DATA, bytes + put, some))
			break;
		put += some;
	}
	return put;
}

int job_bytes_take(struct job_link *l, const uint8_t *payload, size_t length, const uint8_t **bytes,
		   size_t *n)
{
	struct job_link_frame f;
	int ret = job_link_take(l, payload, length, &f);

	if (ret <= 0)
		return ret;
	if (f.type != BYTES_DATA || !f.length || f.length > BYTES_MAX)
		return -EPROTO;
	*bytes = f.body;
	*n = f.length;
	return 1;
}
