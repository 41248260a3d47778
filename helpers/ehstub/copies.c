// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Copies of what can be read from a descriptor, which leave it as it is: pread() of a file, tee(2) of
 * a pipe, MSG_PEEK of a socket. What the program has read is taken out afterwards.
 *
 * Data that are copied and not taken keep a pipe or socket readable. So it is watched edge-triggered:
 * an epoll descriptor reports each write.
 */
#include "stub.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Of a smaller one a reader is told of what was read only when the writer has been held up. */
#define COPIES_PIPE 65536

static bool copies_watch(struct source *from)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET };

	from->events = descriptor_above_2(epoll_create1(EPOLL_CLOEXEC));
	return from->events >= 0 && !epoll_ctl(from->events, EPOLL_CTL_ADD, from->fd, &event);
}

/*
 * Copies that the program has not read yet stay in the source: with more room more are on the way. If
 * it reads nothing, its writer is held up as at home. Ours first, as it takes all that is there.
 */
void copies_widen(struct source *from)
{
	if (from->size && from->size < (int)JOB_WINDOW &&
	    fcntl(from->fd, F_GETPIPE_SZ) == from->size &&
	    fcntl(from->pipe[1], F_SETPIPE_SZ, JOB_WINDOW) >= (int)JOB_WINDOW)
		fcntl(from->fd, F_SETPIPE_SZ, JOB_WINDOW);
}

static bool copies_open_pipe(struct source *from)
{
	int size = fcntl(from->fd, F_GETPIPE_SZ);

	if (size < COPIES_PIPE || pipe2(from->pipe, O_NONBLOCK | O_CLOEXEC))
		return false;
	from->pipe[0] = descriptor_above_2(from->pipe[0]);
	from->pipe[1] = descriptor_above_2(from->pipe[1]);
	from->null = descriptor_above_2(open("/dev/null", O_WRONLY | O_CLOEXEC));
	if (from->pipe[0] < 0 || from->null < 0)
		return false;
	from->size = size;
	from->least = PIPE_BUF;
	if (fcntl(from->pipe[1], F_SETPIPE_SZ, size) < size)
		return false;
	if (from->used)
		copies_widen(from);
	return true;
}

bool copies_open(struct source *from)
{
	socklen_t length = sizeof(int);
	bool able;
	int type;

	if (from->kind == KIND_FILE)
		return true;
	if (from->kind == KIND_SOCKET)
		able = !getsockopt(from->fd, SOL_SOCKET, SO_TYPE, &type, &length) &&
		       type == SOCK_STREAM;
	else
		able = copies_open_pipe(from);
	if (able && copies_watch(from))
		return true;
	copies_close(from);
	return false;
}

void copies_close(struct source *from)
{
	int *const all[] = { &from->pipe[0], &from->pipe[1], &from->null, &from->events };

	/* As it was, if what is left fits. */
	if (from->size && fcntl(from->fd, F_GETPIPE_SZ) > from->size)
		fcntl(from->fd, F_SETPIPE_SZ, from->size);
	from->size = 0;
	for (int i = 0; i < 4; i++) {
		if (*all[i] >= 0)
			close(*all[i]);
		*all[i] = -1;
	}
}

/* Takes bytes out of a pipe without copying them. */
static bool copies_discard(const struct source *from, int pipe, uint64_t left)
{
	ssize_t n;

	for (; left; left -= n) {
		n = splice(pipe, NULL, from->null, NULL, left, SPLICE_F_NONBLOCK);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return false;
	}
	return true;
}

/* From our own pipe, in which there is some. */
static ssize_t copies_read(struct source *from, uint8_t *to, size_t room)
{
	ssize_t n = read(from->pipe[0], to, room);

	if (n < 0)
		return -errno;
	from->peeked -= n;
	return n;
}

/* What follows the first `skip` bytes, or -errno. All of it comes into our own pipe, from which it is read. */
static ssize_t copies_peek_pipe(struct source *from, size_t skip, uint8_t *to, size_t room)
{
	ssize_t n;

	n = tee(from->fd, from->pipe[1], INT_MAX, SPLICE_F_NONBLOCK);
	if (n < 0)
		return -errno;
	if (!copies_discard(from, from->pipe[0], (size_t)n < skip ? (size_t)n : skip))
		return -EIO;
	if ((size_t)n <= skip)
		return -EAGAIN;
	from->peeked = n - skip;
	return copies_read(from, to, room);
}

static ssize_t copies_peek_socket(int fd, size_t skip, uint8_t *to, size_t room)
{
	struct iovec iov[SOURCE_COPIES / JOB_DATA_MAX + 1];
	struct msghdr msg = { .msg_iov = iov };
	size_t left = skip;
	ssize_t n;

	for (; left; left -= iov[msg.msg_iovlen++].iov_len)
		iov[msg.msg_iovlen] =
			(struct iovec){ to, left < JOB_DATA_MAX ? left : JOB_DATA_MAX };
	iov[msg.msg_iovlen++] = (struct iovec){ to, room };
	n = recvmsg(fd, &msg, MSG_PEEK | MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	return (size_t)n > skip ? n - (ssize_t)skip : -EAGAIN;
}

/* Whether there is more in it than `skip` bytes, which could not be copied: see copies_make(). */
static bool copies_more(int fd, size_t skip)
{
	int waiting = 0;

	return !ioctl(fd, FIONREAD, &waiting) && waiting > 0 && (size_t)waiting > skip;
}

static ssize_t copies_make_file(const struct source *from, uint8_t *to, size_t room)
{
	ssize_t n;

	do {
		n = pread(from->fd, to, room, from->first + from->copied);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t copies_make(struct source *from, uint8_t *to, size_t room)
{
	const short over = POLLHUP | POLLRDHUP | POLLERR;
	struct pollfd p = { .fd = from->fd, .events = POLLIN | POLLRDHUP };
	size_t skip = from->copied - from->taken;
	struct epoll_event event;
	ssize_t n;

	if (from->kind == KIND_FILE)
		return copies_make_file(from, to, room);
	if (from->peeked)
		return copies_read(from, to, room);
	/* Before it is looked into: what comes after this is reported again. */
	epoll_wait(from->events, &event, 1, 0);
	poll(&p, 1, 0);
	n = from->kind == KIND_SOCKET ? copies_peek_socket(from->fd, skip, to, room)
				      : copies_peek_pipe(from, skip, to, room);
	if (n > 0)
		return n;
	/* A read() would fail, too, when what was copied is taken. */
	if (n != -EAGAIN)
		return skip ? -EAGAIN : 0;
	/* Our own pipe may hold less than the source, and a socket may have a mark: first what is before it. */
	return p.revents & over && !copies_more(from->fd, skip) ? 0 : -EAGAIN;
}

void copies_take(struct source *from, uint64_t left)
{
	uint8_t data[JOB_DATA_MAX];
	ssize_t n;

	if (from->kind == KIND_FILE) {
		lseek(from->fd, left, SEEK_CUR);
		return;
	}
	if (from->kind != KIND_SOCKET) {
		copies_discard(from, from->fd, left);
		return;
	}
	for (; left; left -= n) {
		n = descriptor_read(from->fd, from->kind, data,
				    left < sizeof(data) ? left : sizeof(data));
		if (n <= 0)
			return;
	}
}
