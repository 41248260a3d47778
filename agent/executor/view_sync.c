// SPDX-License-Identifier: GPL-2.0-or-later
#include "executor/view_sync.h"

#include <errno.h>
#include <sys/socket.h>

#include "wire/view.h"

int view_sync_ask(int control, uint32_t ticket, bool ended)
{
	const struct view_sync ask = { ticket, ended ? VIEW_ENDED : VIEW_BEGIN };

	return send(control, &ask, sizeof(ask), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(ask)
		       ? 0
		       : -EPIPE;
}

int64_t view_sync_take(int control)
{
	uint32_t ticket;
	ssize_t n = recv(control, &ticket, sizeof(ticket), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return n == sizeof(ticket) ? (int64_t)ticket : -EPIPE;
}
