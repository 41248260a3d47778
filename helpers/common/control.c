// SPDX-License-Identifier: GPL-2.0-or-later
#include "control.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/descriptors.h"

int control_ask(int control, uint32_t ticket, uint32_t what, int connection)
{
	struct view_sync ask = { ticket, what };
	struct iovec iov = { &ask, sizeof(ask) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union descriptors room;

	descriptors_put(&msg, &room, &connection, connection >= 0);
	return sendmsg(control, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(ask) ? 0 : -errno;
}

int64_t control_answer(int control)
{
	uint32_t ticket;
	ssize_t n = recv(control, &ticket, sizeof(ticket), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return n == sizeof(ticket) ? (int64_t)ticket : -EPIPE;
}

int control_take(int control, struct view_sync *ask, int *connection)
{
	struct iovec iov = { ask, sizeof(*ask) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fds[DESCRIPTORS_MAX], nfds;
	union descriptors room;
	ssize_t n;

	*connection = -1;
	descriptors_expect(&msg, &room, 1);
	n = recvmsg(control, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return -1;
	nfds = descriptors_take(&msg, &room, fds);
	if (n == sizeof(*ask) && (nfds == 1) == (ask->what == VIEW_CONNECT)) {
		if (nfds)
			*connection = fds[0];
		return 1;
	}
	while (nfds)
		close(fds[--nfds]);
	return -1;
}
