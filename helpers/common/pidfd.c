// SPDX-License-Identifier: GPL-2.0-or-later
#include "pidfd.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* of Linux 6.5 */
#endif

int pidfd_of_peer(int socket, pid_t pid)
{
	socklen_t size = sizeof(int);
	int fd;

	if (!getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size))
		return fd;
	if (errno != ENOPROTOOPT)
		return -ESRCH;
	fd = syscall(SYS_pidfd_open, pid, 0u);
	return fd < 0 ? -errno : fd;
}

bool pidfd_ended(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0);
}
