// SPDX-License-Identifier: GPL-2.0-or-later
#include "helpers/end/hop.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "helpers/common/trust.h"

#define HOP_PAUSE_MS 20 /* the first; then twice as long each time */
#define HOP_PAUSE_MAX_MS 1000

static bool hop_knows;
static uid_t hop_agent;

void hop_know(void)
{
	hop_agent = trust_owner();
	hop_knows = true;
}

static bool hop_trusts(uid_t uid)
{
	return hop_knows ? !uid || uid == geteuid() || uid == hop_agent : trust_agent(uid);
}

int hop_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t length = sizeof(struct ucred);
	struct ucred peer;
	int low, fd, err;

	low = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (low < 0)
		return -errno;
	fd = low;
	if (low < 3) {
		fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
		err = -errno;
		close(low);
		if (fd < 0)
			return err;
	}
	/* Not blocking: an agent that is stuck, with a full queue, would hold us for ever. */
	memcpy(address.sun_path + 1, AGENT_SOCKET, sizeof(AGENT_SOCKET) - 1);
	if (connect(fd, (struct sockaddr *)&address,
		    offsetof(struct sockaddr_un, sun_path) + sizeof(AGENT_SOCKET)) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length)) {
		err = -errno;
		goto close_fd;
	}
	err = -EPERM;
	if (hop_trusts(peer.uid)) {
		fcntl(fd, F_SETFL, 0);
		return fd;
	}
close_fd:
	close(fd);
	return err;
}

void hop_open(struct hop *h, int socket)
{
	h->socket = socket;
	h->have = h->from = h->to = 0;
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
	int fd = hop_connect();

	if (fd < 0)
		return fd;
	hop_open(h, fd);
	memcpy(a->token, told->token, sizeof(a->token));
	memcpy(a->id, told->id, sizeof(a->id));
	memcpy(a->other, told->other, sizeof(a->other));
	hop_put(h, FRAME_ATTACH, payload, attach_encode(a, payload));
	return 0;
}

void hop_pause(struct hop *h, int64_t now)
{
	h->pause_ms = h->pause_ms ? 2 * h->pause_ms : HOP_PAUSE_MS;
	if (h->pause_ms > HOP_PAUSE_MAX_MS)
		h->pause_ms = HOP_PAUSE_MAX_MS;
	h->retry_at = now + h->pause_ms;
}

int hop_read(struct hop *h, enum frame_type *type, const uint8_t **payload, uint32_t *length)
{
	for (;;) {
		size_t want = FRAME_HEADER;
		ssize_t n;

		if (h->have >= FRAME_HEADER) {
			/* With room for the NUL. Nothing longer is for an end. */
			if (frame_parse(h->in, type, length) ||
			    *length >= sizeof(h->in) - FRAME_HEADER)
				return -EPROTO;
			want += *length;
		}
		if (h->have >= FRAME_HEADER && h->have == want) {
			h->in[want] = '\0';
			*payload = h->in + FRAME_HEADER;
			h->have = 0;
			return 1;
		}
		n = recv(h->socket, h->in + h->have, want - h->have, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n <= 0)
			return -EPIPE;
		h->have += n;
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
	for (;;) {
		ssize_t n;

		if (h->from == h->to) {
			h->from = 0;
			h->to = end ? job_end_next(end, h->out, sizeof(h->out)) : 0;
		}
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
