// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Descriptors of the task, used without waiting. O_NONBLOCK is never set on an open file that others
 * share: pipes and terminals are opened again, sockets have MSG_DONTWAIT, files do not block for
 * long, everything else is asked with poll() first.
 */
#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "helpers/common/number.h"
#include "helpers/end/calls.h"

const char *descriptor_name(int fd, char name[DESCRIPTOR_NAME])
{
	static const char folder[] = "/proc/self/fd/";

	memcpy(name, folder, sizeof(folder) - 1);
	number_text(fd, name + sizeof(folder) - 1);
	return name;
}

int descriptor_leads(DIR *fds, const struct dirent *entry, const struct stat *it)
{
	struct stat st;
	char link;

	if (entry->d_name[0] == '.')
		return 0;
	if (!fstatat(dirfd(fds), entry->d_name, &st, 0))
		return st.st_dev == it->st_dev && st.st_ino == it->st_ino;
	/* Closed meanwhile; or a file of its own that no stat() is allowed of, unlike ours. */
	if (errno == ENOENT || readlinkat(dirfd(fds), entry->d_name, &link, 1) >= 0)
		return 0;
	return errno == ENOENT ? 0 : -errno;
}

/* It answers as its terminal does, and an open of it makes another one. */
bool descriptor_is_master(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && st.st_rdev == makedev(5, 2);
}

static bool descriptor_is_over(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0 && p.revents & POLLHUP;
}

enum kind descriptor_adopt(int fd)
{
	char name[DESCRIPTOR_NAME];
	struct stat st;
	int own, mode;

	if (fstat(fd, &st))
		return KIND_OTHER;
	if (S_ISSOCK(st.st_mode))
		return KIND_SOCKET;
	if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) || S_ISDIR(st.st_mode))
		return KIND_FILE;
	if (!S_ISFIFO(st.st_mode) &&
	    !(S_ISCHR(st.st_mode) && isatty(fd) && !descriptor_is_master(fd)))
		return KIND_OTHER;
	mode = fcntl(fd, F_GETFL) & (O_ACCMODE | O_DIRECT);
	own = open(descriptor_name(fd, name), mode | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	/* For example a FIFO without a reader, or of another user. */
	if (own < 0)
		return KIND_OTHER;
	/* A FIFO that was opened when it had no writers does not report their end. */
	if (descriptor_is_over(fd)) {
		close(own);
		return KIND_OTHER;
	}
	if (own != fd) {
		mode = dup2(own, fd);
		close(own);
		if (mode < 0)
			return KIND_OTHER;
	}
	return KIND_OWN;
}

void descriptor_restore(int fd, enum kind kind)
{
	if (kind == KIND_OWN)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

/* If poll() reports it as ready, a little does not block. */
static bool descriptor_ready(int fd, short what)
{
	struct pollfd p = { .fd = fd, .events = what };

	return poll(&p, 1, 0) > 0;
}

ssize_t descriptor_read(int fd, enum kind kind, uint8_t *to, size_t room)
{
	ssize_t n;

	if (kind == KIND_OTHER && !descriptor_ready(fd, POLLIN))
		return -EAGAIN;
	do {
		n = kind == KIND_SOCKET ? recv(fd, to, room, MSG_DONTWAIT) : read(fd, to, room);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t descriptor_write(int fd, enum kind kind, const uint8_t *data, size_t n)
{
	ssize_t done;

	if (kind == KIND_OTHER) {
		if (!descriptor_ready(fd, POLLOUT))
			return -EAGAIN;
		if (n > PIPE_BUF)
			n = PIPE_BUF;
	}
	do {
		done = kind == KIND_SOCKET ? send(fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL)
					   : write(fd, data, n);
	} while (done < 0 && errno == EINTR);
	if (done >= 0)
		return done;
	done = -errno;
	/* Ours, and not one that the task is to get. */
	if (done == -EPIPE)
		calls_take(SIGPIPE);
	return done;
}
