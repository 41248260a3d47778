// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Descriptor 0, if it is not a terminal, and others that the task reads. Each is offered when poll() reports something, and read when the
 * program reads: one read for each JOB_WANT. So what the program leaves is there for the next reader.
 * Bulk data are copied ahead (copies.c) if nobody else can read them meanwhile.
 */
#include "stub.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/*
 * After this many bytes it is worth to copy ahead. Each answer is a round trip, so a shell that reads
 * a byte at a time gets there with a few dozen of them.
 */
#define SOURCE_AHEAD_AFTER 65536u
#define SOURCE_ANSWER 2048u
/* A program that only looks from time to time whether there is input is not seen to wait for it. */
#define SOURCE_UNSEEN_MS 2000
/* After bytes were taken out: 1, 2, 4 … ms, until here. */
#define SOURCE_LOOK_MS 16
#define SOURCE_PIPES 0x50495045 /* PIPEFS_MAGIC of linux/magic.h, which musl has not */

void source_init(struct source *from, uint32_t channel)
{
	*from = (struct source){ .fd = -1, .channel = channel, .look_at = SESSION_NEVER };
	from->pipe[0] = from->pipe[1] = from->null = from->events = -1;
}

struct source *source_of(struct stub *s, uint32_t channel)
{
	for (uint32_t i = 0; i < s->nsources; i++)
		if (s->sources[i].channel == channel)
			return &s->sources[i];
	return NULL;
}

/* Not a FIFO, which somebody may open to write when others have closed it. */
static bool source_hangs(int fd)
{
	struct statfs fs;
	struct stat st;

	return !fstat(fd, &st) && S_ISFIFO(st.st_mode) && !fstatfs(fd, &fs) &&
	       fs.f_type == SOURCE_PIPES;
}

void source_use(struct source *from, int fd)
{
	struct stat st;

	from->hangs = source_hangs(fd);
	from->fd = fd;
	from->kind = descriptor_adopt(fd);
	from->feed = FEED_IDLE;
	if (from->kind != KIND_FILE || fstat(fd, &st) || S_ISDIR(st.st_mode))
		return;
	/* It can be copied at any offset, so nobody loses anything by it. */
	from->first = lseek(fd, 0, SEEK_CUR);
	from->looked = from->first < 0;
	from->asked = SOURCE_AHEAD_AFTER;
}

void source_open(struct stub *s)
{
	if (!(s->flags & JOB_FD(0)) || s->flags & (JOB_TTY(0) | JOB_NULL(0)))
		return;
	source_use(&s->sources[0], 0);
}

void source_close(struct stub *s, struct source *from)
{
	if (from->feed == FEED_NONE)
		return;
	tokens_give_back(s, from);
	from->feed = FEED_NONE;
	from->look_at = SESSION_NEVER;
	/* Of copies the source still has what was not read. */
	copies_close(from);
	if (from->kind == KIND_FILE)
		return;
	close(from->fd);
	from->fd = -1;
	opens_closed(s, from->channel);
}

void source_shut(const struct source *from)
{
	if (from->fd >= 0 && from->kind == KIND_SOCKET)
		shutdown(from->fd, SHUT_RD);
}

/* Whether it must be seen if it can be copied. */
static bool source_is_large(const struct source *from)
{
	return !from->looked && from->asked >= SOURCE_AHEAD_AFTER && calls_now() >= from->again_at;
}

/* Others may have it for a moment only: a child that is about to execute another program. */
static void source_see(struct stub *s, struct source *from)
{
	from->looked =
		from->kind == KIND_FILE || !readers_other(from->fd, s->witness.pid, from->pair);
	from->able = from->looked && copies_open(from);
	if (from->looked)
		return;
	from->asked = 0;
	from->again_at = calls_now() + SOURCE_UNSEEN_MS;
}

/* Says that more of it may be had. */
static void source_offer(struct stub *s, struct source *from)
{
	struct job_message m = { .what = JOB_OFFER, .channel = from->channel };

	if (source_is_large(from))
		source_see(s, from);
	m.ahead = from->able;
	/* The same again says nothing. */
	if (from->feed == FEED_OFFERED && !m.ahead) {
		from->look_at = from->looked ? SESSION_NEVER : from->again_at;
		return;
	}
	if (!session_say(&s->session, &m))
		return;
	from->feed = from->able ? FEED_AHEAD : FEED_OFFERED;
	if (from->feed == FEED_OFFERED && !from->looked)
		from->look_at = calls_now() + SOURCE_UNSEEN_MS;
}

static void source_nothing(struct stub *s, struct source *from)
{
	const struct job_message m = { .what = JOB_NONE, .channel = from->channel };

	if (from->feed == FEED_OFFERED && !session_say(&s->session, &m))
		return;
	from->feed = FEED_IDLE;
	from->ready = false;
}

/* Answers the program's read. */
static void source_answer(struct stub *s, struct source *from, size_t room)
{
	uint8_t data[JOB_DATA_MAX];
	ssize_t n;

	n = descriptor_read(from->fd, from->kind, data, room);
	if (n == -EAGAIN) {
		source_nothing(s, from);
		return;
	}
	if (n <= 0) {
		from->ended = true;
		return;
	}
	from->used = true;
	if (from->asked < SOURCE_AHEAD_AFTER)
		from->asked += n < (ssize_t)SOURCE_ANSWER ? SOURCE_ANSWER : n;
	from->look_at = SESSION_NEVER;
	from->feed = FEED_IDLE;
	from->ready = false;
	job_end_send(&s->session.end, from->channel, data, n, false);
	if (from->tokens)
		tokens_given(from, data, n);
}

/* What is left is read in the end, and then all is taken out: until then it is only slower. */
static void source_look_later(struct source *from)
{
	if (!from->look_ms)
		return;
	from->look_at = calls_now() + from->look_ms;
	from->look_ms = from->look_ms < SOURCE_LOOK_MS ? 2 * from->look_ms : 0;
}

void source_look(struct stub *s, struct source *from)
{
	if (s->session.now < from->look_at)
		return;
	from->look_at = SESSION_NEVER;
	from->ready = true;
	if (from->feed != FEED_OFFERED)
		return;
	from->asked = SOURCE_AHEAD_AFTER;
	source_offer(s, from);
}

static void source_copy(struct stub *s, struct source *from)
{
	uint8_t data[JOB_DATA_MAX];
	size_t room, left;
	ssize_t n;

	while (from->ready && !from->ended) {
		room = job_end_room(&s->session.end, from->channel);
		left = SOURCE_COPIES - (from->copied - from->taken);
		room = room < left ? room : left;
		if (!room || room < from->least)
			return;
		n = copies_make(from, data, room);
		if (n > 0) {
			job_end_send(&s->session.end, from->channel, data, n, true);
			from->copied += n;
		} else if (n == -EAGAIN) {
			from->ready = false;
			source_look_later(from);
		} else {
			from->ended = true;
		}
	}
}

void source_step(struct stub *s, struct source *from)
{
	const struct job_message end = { .what = JOB_END, .channel = from->channel };
	size_t room;

	if (from->feed == FEED_NONE)
		return;
	if (from->feed == FEED_AHEAD) {
		source_copy(s, from);
	} else if (!from->ended) {
		/* Copies are for any reader, and take nothing from others. */
		if (s->session.end.channels[from->channel].unsure)
			from->asked = SOURCE_AHEAD_AFTER;
		if (from->feed == FEED_OFFERED && (from->able || source_is_large(from)))
			source_offer(s, from);
		room = job_end_room(&s->session.end, from->channel);
		/* What is wanted before it is offered is answered, too. */
		if (from->ready && from->feed == FEED_IDLE && (!room || source_is_large(from)))
			source_offer(s, from);
		else if (room && from->feed != FEED_AHEAD &&
			 (from->feed == FEED_OFFERED || from->ready))
			source_answer(s, from, room);
		if (from->feed == FEED_AHEAD)
			source_copy(s, from);
	}
	if (!from->ended || from->told || !session_say(&s->session, &end))
		return;
	from->told = true;
	/* Copies are taken out as they are read. */
	if (from->feed != FEED_AHEAD)
		source_close(s, from);
}

bool source_wants(const struct source *from, struct pollfd *p)
{
	p->events = POLLIN;
	if (from->ended || from->ready || from->feed == FEED_NONE || from->feed == FEED_OFFERED)
		return false;
	p->fd = from->feed == FEED_AHEAD ? from->events : from->fd;
	return p->fd >= 0;
}

void source_on_poll(struct source *from, short events)
{
	from->ready |= events != 0;
	/* Nothing is taken by saying so, and a program that does not ask is told sooner. */
	if (from->hangs && from->feed == FEED_IDLE && events & POLLHUP && !(events & POLLIN))
		from->ended = true;
}

void source_read(struct stub *s, struct source *from, uint64_t total)
{
	const struct job_channel *c = &s->session.end.channels[from->channel];

	if (from->feed != FEED_AHEAD && from->kind != KIND_FILE)
		return;
	/* Before the copies, answers were taken out at once, and are counted, too. */
	if (total <= c->sent - from->copied + from->taken)
		return;
	total -= c->sent - from->copied + from->taken;
	if (total > from->copied - from->taken)
		total = from->copied - from->taken;
	copies_take(from, total);
	from->taken += total;
	/* A writer that waits in the middle of a write goes on, and epoll reports only its end. */
	from->ready = true;
	from->look_ms = 1;
	if (from->kind == KIND_FILE)
		return;
	from->used = true;
	copies_widen(from);
}

int source_again(struct source *from)
{
	if (from->kind == KIND_FILE && from->first >= 0)
		return lseek(from->fd, from->first, SEEK_SET) < 0 ? -errno : 0;
	if (from->used)
		return -ESPIPE;
	if (from->feed == FEED_NONE)
		return -EPIPE;
	descriptor_restore(from->fd, from->kind);
	return 0;
}

int source_rewind(struct stub *s)
{
	/* Keys, of descriptor 0 or of /dev/tty. */
	if (s->tty.sent)
		return -ESPIPE;
	if (!(s->flags & JOB_FD(0)) || s->flags & (JOB_NULL(0) | JOB_TTY(0)))
		return 0;
	return source_again(&s->sources[0]);
}
