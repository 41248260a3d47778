// SPDX-License-Identifier: GPL-2.0-or-later
#include "caller.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "helpers/common/pidfd.h"

#define CALLER_ROOM 4096 /* at first; a status is longer with many groups */

/*
 * Whether somebody has connected to it. Of a socket that has connected itself the kernel says who listens
 * at the other end, which may be any program of the host. But that end has a name, and a client has none.
 */
static bool caller_came(int socket)
{
	const socklen_t none = offsetof(struct sockaddr_un, sun_path);
	struct sockaddr_un own = { 0 }, its = { 0 };
	socklen_t size = sizeof(own), its_size = sizeof(its);

	return !getsockname(socket, (struct sockaddr *)&own, &size) && own.sun_family == AF_UNIX &&
	       !getpeername(socket, (struct sockaddr *)&its, &its_size) && size > none &&
	       its_size == none;
}

char *caller_read(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC), err;
	size_t size = CALLER_ROOM, have = 0;
	char *text = fd < 0 ? NULL : malloc(size), *more;
	ssize_t n = -1;

	while (text && (n = read(fd, text + have, size - have - 1)) > 0) {
		have += n;
		if (have + 1 < size)
			continue;
		more = realloc(text, 2 * size);
		if (!more) {
			n = -1;
			break;
		}
		text = more;
		size *= 2;
	}
	err = errno;
	if (fd >= 0)
		close(fd);
	if (n < 0) {
		free(text);
		text = NULL;
	} else {
		text[have] = '\0';
	}
	errno = err;
	return text;
}

const char *caller_cgroup(const char *cgroups, const char *controller, size_t *length)
{
	const size_t n = strlen(controller);

	for (const char *line = cgroups; *line;
	     line += strcspn(line, "\n"), line += *line == '\n') {
		const char *at = strchr(line, ':'), *path = at ? strchr(at + 1, ':') : NULL;

		for (; path && at < path; at += 1 + strcspn(at + 1, ",:")) {
			if (strncmp(at + 1, controller, n) || !strchr(",:", at[1 + n]))
				continue;
			*length = strcspn(path + 1, "\n");
			return path + 1;
		}
	}
	return NULL;
}

static uint64_t caller_start(int folder)
{
	char *line = caller_read(folder, "stat"), *at = line ? strrchr(line, ')') : NULL;
	uint64_t start;

	/* The name in brackets may have anything in it. The 20th field after it. */
	for (int i = 0; at && i < 20; i++)
		at = strchr(at + 1, ' ');
	start = at ? strtoull(at, NULL, 10) : 0;
	free(line);
	return start;
}

uint64_t caller_start_of(pid_t pid)
{
	char path[32];
	uint64_t start;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	start = caller_start(fd);
	close(fd);
	return start;
}

void caller_say(pid_t pid, char text[LAUNCH_NOTE_PROCESS])
{
	snprintf(text, LAUNCH_NOTE_PROCESS, "%d %llu", (int)pid,
		 (unsigned long long)caller_start_of(pid));
}

/* It was started before it came: not one that has got the number since. */
static bool caller_is_old(int folder, uint64_t came)
{
	const uint64_t start = caller_start(folder);

	return start && start <= came;
}

bool caller_is_users(const struct caller *caller)
{
	char *status = caller_read(caller->folder, "status");
	const char *at = status ? strstr(status, "\nUid:\t") : NULL;
	unsigned int real, effective;
	const bool is = at && sscanf(at, "\nUid:\t%u %u", &real, &effective) == 2 &&
			real == caller->uid && effective == caller->uid;

	free(status);
	return is;
}

int caller_find(int socket, uint64_t came, struct caller *out)
{
	socklen_t size = sizeof(struct ucred);
	struct ucred who;
	char path[32];
	int err;

	if (!caller_came(socket))
		return -EPERM;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size))
		return -errno;
	if (who.pid <= 0)
		return -EPERM;
	*out = (struct caller){ .pid = who.pid, .uid = who.uid, .folder = -1 };
	out->pidfd = pidfd_of_peer(socket, who.pid);
	if (out->pidfd < 0)
		return out->pidfd;
	snprintf(path, sizeof(path), "/proc/%d", (int)who.pid);
	out->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = out->folder < 0 ? (errno == ENOENT ? -ESRCH : -errno) : 0;
	if (!err && (!caller_lives(out) || !caller_is_old(out->folder, came)))
		err = -ESRCH;
	if (err)
		caller_drop(out);
	return err;
}

bool caller_lives(const struct caller *caller)
{
	return !pidfd_ended(caller->pidfd);
}

void caller_drop(struct caller *caller)
{
	if (caller->folder >= 0)
		close(caller->folder);
	close(caller->pidfd);
}
