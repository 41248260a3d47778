/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames from an end of a job, as a test reads them that plays its agent. */
#ifndef UNIT_FRAMES_H
#define UNIT_FRAMES_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "wire/frame.h"

/* 1: the payload of a whole one is behind its header in `in`; 0: it has not come; -1: there is no other end. */
static inline int frames_read(int socket, uint8_t *in, size_t room, size_t *have,
			      enum frame_type *type, uint32_t *length)
{
	for (;;) {
		size_t want = FRAME_HEADER;
		ssize_t n;

		if (*have >= FRAME_HEADER) {
			assert_int_equal(frame_parse(in, type, length), 0);
			want += *length;
			assert_true(want <= room);
		}
		if (*have >= FRAME_HEADER && *have == want) {
			*have = 0;
			return 1;
		}
		n = recv(socket, in + *have, want - *have, MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return -1;
		*have += n;
	}
}

#endif
