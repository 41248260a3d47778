// SPDX-License-Identifier: GPL-2.0-or-later
#include "frames.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <cmocka.h>

int frames_read(int socket, uint8_t *in, size_t room, size_t *have, enum frame_type *type,
		uint32_t *length)
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
