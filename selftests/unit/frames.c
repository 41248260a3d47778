// SPDX-License-Identifier: GPL-2.0-or-later
#include "frames.h"

#include <errno.h>
#include <poll.h>
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

int frames_accept(int listener, int wait_ms, enum frame_type wanted, uint8_t *payload,
		  uint32_t *length)
{
	struct pollfd p = { listener, POLLIN, 0 };
	uint8_t head[FRAME_HEADER];
	enum frame_type type;
	int fd;

	assert_int_equal(poll(&p, 1, wait_ms), 1);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(recv(fd, head, sizeof(head), MSG_WAITALL), sizeof(head));
	assert_int_equal(frame_parse(head, &type, length), 0);
	assert_int_equal(type, wanted);
	assert_int_equal(recv(fd, payload, *length, MSG_WAITALL), *length);
	return fd;
}
