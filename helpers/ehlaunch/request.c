// SPDX-License-Identifier: GPL-2.0-or-later
#include "request.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Whether a component is "..". */
static bool request_path_climbs(const char *path)
{
	for (; (path = strstr(path, "/..")); path += 3)
		if (!path[3] || path[3] == '/')
			return true;
	return false;
}

const char *request_path(const char **at, const char *end)
{
	const char *path = *at, *nul = path < end ? memchr(path, 0, end - path) : NULL;

	if (!nul || path[0] != '/' || nul - path > EHS_PATH_MAX || request_path_climbs(path))
		return NULL;
	*at = nul + 1;
	return path;
}

int request_answer(int news, const void *told, size_t size, const int *fds, int nfds)
{
	struct iovec iov = { (void *)told, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union descriptors room;

	descriptors_put(&msg, &room, fds, nfds);
	return sendmsg(news, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size ? 0 : -1;
}

void request_tell(int news, enum launch_stage stage, int error)
{
	const struct launch_news told = { .stage = stage, .error = error };

	request_answer(news, &told, sizeof(told), NULL, 0);
}

bool request_fd_is(int fd, const char *kind)
{
	char link[32], name[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, name, sizeof(name));
	return n > (ssize_t)strlen(kind) && !memcmp(name, kind, strlen(kind));
}
