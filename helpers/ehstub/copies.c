// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Copies of what can be read from a descriptor, which leave it as it is: pread() of a file, tee(2) of
 * a pipe, MSG_PEEK of a socket. What the program has read is taken out afterwards.
 *
 * Data that are copied and not taken keep a pipe or socket readable. So it is watched edge-triggered:
 * an epoll descriptor reports each write.
 */
#include "copies.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "helpers/end/open.h"
#include "job/end.h"

/* Of a smaller one a reader is told of what was read only when the writer has been held up. */
#define COPIES_PIPE 65536

static bool copies_watch(struct copies *c)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET };

	c->events = open_above_2(epoll_create1(EPOLL_CLOEXEC));
	return c->events >= 0 && !epoll_ctl(c->events, EPOLL_CTL_ADD, c->fd, &event);
}

/*
 * Copies that the program has not read yet stay in the source: with more room more are on the way. If
 * it reads nothing, its writer is held up as at home. Ours first, as it takes all that is there.
 */
void copies_widen(struct copies *c)
{
	if (c->size && c->size < (int)JOB_WINDOW && fcntl(c->fd, F_GETPIPE_SZ) == c->size &&
	    fcntl(c->pipe[1], F_SETPIPE_SZ, JOB_WINDOW) >= (int)JOB_WINDOW)
		fcntl(c->fd, F_SETPIPE_SZ, JOB_WINDOW);
}

static bool copies_open_pipe(struct copies *c)
{
	int size = fcntl(c->fd, F_GETPIPE_SZ);

	if (size < COPIES_PIPE || pipe2(c->pipe, O_NONBLOCK | O_CLOEXEC))
		return false;
	c->pipe[0] = open_above_2(c->pipe[0]);
	c->pipe[1] = open_above_2(c->pipe[1]);
	c->null = open_above_2(open("/dev/null", O_WRONLY | O_CLOEXEC));
	if (c->pipe[0] < 0 || c->null < 0)
		return false;
	c->size = size;
	c->least = PIPE_BUF;
	if (fcntl(c->pipe[1], F_SETPIPE_SZ, size) < size)
		return false;
	return true;
}

bool copies_open(struct copies *c, int fd, enum kind kind)
{
	socklen_t length = sizeof(int);
	bool able;
	int type;

	c->fd = fd;
	c->kind = kind;
	if (kind == KIND_FILE)
		return true;
	if (c->kind == KIND_SOCKET)
		able = !getsockopt(c->fd, SOL_SOCKET, SO_TYPE, &type, &length) &&
		       type == SOCK_STREAM;
	else
		able = copies_open_pipe(c);
	if (able && copies_watch(c))
		return true;
	copies_close(c);
	return false;
}

void copies_close(struct copies *c)
{
	int *const all[] = { &c->pipe[0], &c->pipe[1], &c->null, &c->events };

	/* As it was, if what is left fits. */
	if (c->size && fcntl(c->fd, F_GETPIPE_SZ) > c->size)
		fcntl(c->fd, F_SETPIPE_SZ, c->size);
	c->size = 0;
	for (int i = 0; i < 4; i++) {
		if (*all[i] >= 0)
			close(*all[i]);
		*all[i] = -1;
	}
}

/* Takes bytes out of a pipe without copying them. */
static bool copies_discard(const struct copies *c, int pipe, uint64_t left)
{
	ssize_t n;

	for (; left; left -= n) {
		n = splice(pipe, NULL, c->null, NULL, left, SPLICE_F_NONBLOCK);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return false;
	}
	return true;
}

/* From our own pipe, in which there is some. */
static ssize_t copies_read(struct copies *c, uint8_t *to, size_t room)
{
	ssize_t n = read(c->pipe[0], to, room);

	if (n < 0)
		return -errno;
	c->peeked -= n;
	return n;
}

/* What follows the first `skip` bytes, or -errno. All of it comes into our own pipe, from which it is read. */
static ssize_t copies_peek_pipe(struct copies *c, size_t skip, uint8_t *to, size_t room)
{
	ssize_t n;

	n = tee(c->fd, c->pipe[1], INT_MAX, SPLICE_F_NONBLOCK);
	if (n < 0)
		return -errno;
	if (!copies_discard(c, c->pipe[0], (size_t)n < skip ? (size_t)n : skip))
		return -EIO;
	if ((size_t)n <= skip)
		return -EAGAIN;
	c->peeked = n - skip;
	return copies_read(c, to, room);
}

static ssize_t copies_peek_socket(int fd, size_t skip, uint8_t *to, size_t room)
{
	struct iovec iov[COPIES_MAX / JOB_DATA_MAX + 1];
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

static ssize_t copies_make_file(const struct copies *c, uint8_t *to, size_t room)
{
	ssize_t n;

	do {
		n = pread(c->fd, to, room, c->first + c->copied);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t copies_make(struct copies *c, uint8_t *to, size_t room)
{
	const short over = POLLHUP | POLLRDHUP | POLLERR;
	struct pollfd p = { .fd = c->fd, .events = POLLIN | POLLRDHUP };
	size_t skip = c->copied - c->taken;
	struct epoll_event event;
	ssize_t n;

	if (c->kind == KIND_FILE)
		return copies_make_file(c, to, room);
	if (c->peeked)
		return copies_read(c, to, room);
	/* Before it is looked into: what comes after this is reported again. */
	epoll_wait(c->events, &event, 1, 0);
	poll(&p, 1, 0);
	n = c->kind == KIND_SOCKET ? copies_peek_socket(c->fd, skip, to, room)
				   : copies_peek_pipe(c, skip, to, room);
	if (n > 0)
		return n;
	/* A read() would fail, too, when what was copied is taken. */
	if (n != -EAGAIN)
		return skip ? -EAGAIN : 0;
	/* Our own pipe may hold less than the source, and a socket may have a mark: first what is before it. */
	return p.revents & over && !copies_more(c->fd, skip) ? 0 : -EAGAIN;
}

void copies_take(struct copies *c, uint64_t left)
{
	uint8_t data[JOB_DATA_MAX];
	ssize_t n;

	if (c->kind == KIND_FILE) {
		lseek(c->fd, left, SEEK_CUR);
		return;
	}
	if (c->kind != KIND_SOCKET) {
		copies_discard(c, c->fd, left);
		return;
	}
	for (; left; left -= n) {
		n = descriptor_read(c->fd, c->kind, data,
				    left < sizeof(data) ? left : sizeof(data));
		if (n <= 0)
			return;
	}
}
