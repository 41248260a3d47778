// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an end of a job reads of its agent, in pieces of any size: frames within their limits, then messages
 * of the other end; the same, whatever the pieces are.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "helpers/end/hop.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sums {
	uint64_t frames, bytes, text;
	int ret;
};

static int on_message(void *ctx, const struct job_message *m)
{
	return 0;
}

static void on_lost(void *ctx, enum job_state before)
{
}

static void read_all(struct hop *h, struct job_end *e, struct sums *s)
{
	const uint8_t *payload;
	enum frame_type type;
	uint32_t length;

	struct pollfd p = { .fd = h->socket, .events = POLLIN };

	/* Once for each event. */
	while ((s->ret = hop_read(h, &type, &payload, &length)) > 0 ||
	       (!s->ret && poll(&p, 1, 0) > 0)) {
		if (!s->ret)
			continue;
		must(length <= frame_limit(type) && payload[length] == '\0');
		s->frames++;
		s->bytes += length;
		for (uint32_t i = 0; i < length; i++)
			s->text = s->text * 31 + payload[i];
		if (type == FRAME_LINK)
			job_end_take(e, payload, length);
	}
}

/* `step`: bytes of a piece. */
static struct sums play(const uint8_t *data, size_t size, size_t step)
{
	static const struct job_end_ops ops = { on_message, on_lost };
	static uint8_t memory[JOB_MEMORY];
	static struct hop h;
	struct job_end end;
	struct sums s = { 0 };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		exit(1);
	job_end_init(&end, JOB_HOME, memory, 0, 100, 1000, &ops, NULL);
	job_end_attach(&end);
	hop_open(&h, pair[0]);
	while (size && s.ret >= 0) {
		const size_t n = step < size ? step : size;

		must(send(pair[1], data, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n);
		read_all(&h, &end, &s);
		data += n;
		size -= n;
	}
	if (s.ret >= 0) {
		must(hop_write(&h, &end) != -EPIPE);
		shutdown(pair[1], SHUT_RDWR);
		read_all(&h, &end, &s);
		must(s.ret == -EPIPE);
	}
	hop_close(&h);
	close(pair[1]);
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sums whole, pieces;

	if (!size)
		return 0;
	whole = play(data + 1, size - 1, size);
	pieces = play(data + 1, size - 1, data[0] % 16 + 1);
	must(whole.frames == pieces.frames && whole.bytes == pieces.bytes &&
	     whole.text == pieces.text && whole.ret == pieces.ret);
	return 0;
}
