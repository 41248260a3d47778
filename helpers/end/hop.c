// SPDX-License-Identifier: GPL-2.0-or-later
#include "helpers/end/hop.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helpers/common/agent_address.h"
#include "helpers/end/open.h"
#include "helpers/end/spare.h"
#include "job/backoff.h"

#define HOP_PAUSE_MS 20 /* the first; then twice as long each time */
#define HOP_PAUSE_MAX_MS 1000

static bool hop_knows; /* hop_know() was called: the files here are another host's */
static int hop_folder = -1; /* AGENT_FOLDER of this host; -1: there was none */
static uid_t hop_owner;

void hop_know(void)
{
	hop_knows = true;
	hop_owner = agent_owner();
	/* A mount of its own: no path leads from it to other files of this host. */
	hop_folder = open_above_2(syscall(SYS_open_tree, AT_FDCWD, AGENT_FOLDER,
					  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

/* As agent_connect(), in the directory that was noted. */
static int hop_reach_known(int fd)
{
	struct ucred who;
	int err;

	if (hop_folder < 0)
		return -ENOENT;
	/* To stay: to go back would wait for home, whose view may be broken, too. */
	if (fchdir(hop_folder))
		return -errno;
	err = agent_reach(fd, "", &who);
	if (!err && !agent_believes(who.uid, hop_owner))
		err = -EPERM;
	return err;
}

/* `earlier`: NULL on the first connection. */
static int hop_reach(int fd, bool *earlier)
{
	const uid_t owner = hop_knows ? hop_owner : agent_owner();
	struct ucred who;
	int err = hop_knows ? hop_reach_known(fd) : agent_connect(fd, owner, &who);

	if (!earlier)
		return err;
	*earlier = err == -ENOENT || err == -ECONNREFUSED;
	return *earlier ? agent_connect_earlier(fd, owner) : err;
}

int hop_connect(bool *earlier)
{
	int fd, err;

	fd = open_above_2(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return -errno;
	/* Not blocking: an agent that is stuck, with a full queue, would hold us forever. */
	err = hop_reach(fd, earlier);
	if (err) {
		close(fd);
		return err;
	}
	fcntl(fd, F_SETFL, 0);
	return fd;
}

void hop_open(struct hop *h, int socket)
{
	h->socket = socket;
	h->at = h->have = h->from = h->to = 0;
	h->asked = h->ended = false;
}

void hop_close(struct hop *h)
{
	if (h->socket >= 0)
		close(h->socket);
	hop_open(h, -1);
}

int hop_attach(struct hop *h, struct attach *a, const struct attached *told)
{
	uint8_t payload[ATTACH_SIZE];
	int fd = hop_connect(&h->earlier);

	if (fd < 0)
		return fd;
	hop_open(h, fd);
	memcpy(a->token, told->token, sizeof(a->token));
	memcpy(a->id, told->id, sizeof(a->id));
	memcpy(a->other, told->other, sizeof(a->other));
	a->over &= !h->earlier; /* it refuses what it does not know */
	hop_put(h, FRAME_ATTACH, payload, attach_encode(a, payload));
	return 0;
}

void hop_pause(struct hop *h, int64_t now)
{
	h->pause_ms = backoff_next(h->pause_ms, HOP_PAUSE_MS, HOP_PAUSE_MAX_MS);
	h->retry_at = now + h->pause_ms;
}

/* The NUL behind the last payload was in the place of what follows. */
static void hop_go_on(struct hop *h)
{
	if (h->ended)
		h->in[h->at] = h->next;
	h->ended = false;
}

/* 1: some bytes; 0: there are none. What is left goes to the front, as only part of a frame is. */
static int hop_receive(struct hop *h)
{
	size_t left = h->have - h->at;
	ssize_t n;

	if (left && h->at)
		memmove(h->in, h->in + h->at, left);
	h->at = 0;
	h->have = left;
	n = recv(h->socket, h->in + left, HOP_ROOM - left, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -EPIPE;
	h->have += n;
	return 1;
}

int hop_read(struct hop *h, enum frame_type *type, const uint8_t **payload, uint32_t *length)
{
	int ret;

	hop_go_on(h);
	for (;;) {
		size_t left = h->have - h->at, want = FRAME_HEADER;

		if (left >= FRAME_HEADER) {
			/* Nothing longer is for an end. */
			if (frame_parse(h->in + h->at, type, length) || *length > FRAME_LINK_MAX)
				return -EPROTO;
			want += *length;
		}
		if (left >= want && left >= FRAME_HEADER) {
			*payload = h->in + h->at + FRAME_HEADER;
			h->at += want;
			h->next = h->in[h->at];
			h->in[h->at] = '\0';
			h->ended = true;
			return 1;
		}
		ret = h->asked ? 0 : hop_receive(h);
		h->asked = ret > 0;
		if (ret <= 0)
			return ret;
	}
}

bool hop_put(struct hop *h, enum frame_type type, const void *payload, uint32_t length)
{
	if (h->from == h->to)
		h->from = h->to = 0;
	if (sizeof(h->out) - h->to < FRAME_HEADER + length)
		return false;
	frame_header(h->out + h->to, type, length);
	if (length)
		memcpy(h->out + h->to + FRAME_HEADER, payload, length);
	h->to += FRAME_HEADER + length;
	return true;
}

int hop_write(struct hop *h, struct job_end *end)
{
	size_t more;
	ssize_t n;

	for (;;) {
		if (h->from == h->to)
			h->from = h->to = 0;
		/* As many as go at once: each time somebody else must wake up for it. */
		while (end && !h->from &&
		       (more = job_end_next(end, h->out + h->to, sizeof(h->out) - h->to)))
			h->to += more;
		if (!h->to)
			return 0;
		n = send(h->socket, h->out + h->from, h->to - h->from, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return -EAGAIN;
		if (n < 0)
			return -EPIPE;
		h->from += n;
	}
}

void hop_spare(struct hop *h)
{
	if (h->at == h->have)
		spare_bytes(h->in, sizeof(h->in));
	if (h->from == h->to)
		spare_bytes(h->out, sizeof(h->out));
}
