// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Descriptor 0, if it is not a terminal, and others that the task reads. Each is offered when poll() reports something, and read when the
 * program reads: one read for each JOB_WANT. So what the program leaves is there for the next reader.
 * Bulk data are copied ahead (copies.c) if nobody else can read them meanwhile.
 */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "helpers/end/calls.h"
#include "readers.h"

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

void source_init(struct source *from, uint32_t channel, struct session *session,
		 struct opens *opens, const struct witness *witness)
{
	*from = (struct source){ .session = session,
				 .opens = opens,
				 .witness = witness,
				 .fd = -1,
				 .channel = channel,
				 .look_at = SESSION_NEVER,
				 .copies = COPIES_NONE };
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

	opens_use(from->opens, from->channel);
	from->hangs = source_hangs(fd);
	from->fd = fd;
	from->kind = descriptor_adopt(fd);
	from->feed = FEED_IDLE;
	if (from->kind != KIND_FILE || fstat(fd, &st) || S_ISDIR(st.st_mode))
		return;
	/* It can be copied at any offset, so nobody loses anything by it. */
	from->copies.first = lseek(fd, 0, SEEK_CUR);
	from->looked = from->copies.first < 0;
	from->asked = SOURCE_AHEAD_AFTER;
}

/* ---- tokens of make's jobserver ---- */

static void source_given(struct source *from, const uint8_t *bytes, size_t n)
{
	if (n > SOURCE_GIVEN) {
		bytes += n - SOURCE_GIVEN;
		n = SOURCE_GIVEN;
	}
	memmove(from->given, from->given + n, SOURCE_GIVEN - n);
	memcpy(from->given + SOURCE_GIVEN - n, bytes, n);
}

void source_give_back(struct source *from)
{
	const struct job_channel *c = &from->session->end.channels[from->channel];
	uint64_t left = c->sent - c->read;
	char name[DESCRIPTOR_NAME];
	int fd;

	if (!from->tokens || from->fd < 0 || !left)
		return;
	from->tokens = false;
	if (left > SOURCE_GIVEN)
		left = SOURCE_GIVEN;
	/* There is room: they came from there, and nobody makes new ones. */
	fd = open(descriptor_name(from->fd, name), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, from->given + SOURCE_GIVEN - left, left) < 0)
		calls_take(SIGPIPE); /* the maker has ended */
	close(fd);
}

/* ---- reading ---- */

void source_close(struct source *from)
{
	if (from->feed == FEED_NONE)
		return;
	source_give_back(from);
	from->feed = FEED_NONE;
	from->look_at = SESSION_NEVER;
	/* Of copies the source still has what was not read. */
	copies_close(&from->copies);
	if (from->kind == KIND_FILE)
		return;
	close(from->fd);
	from->fd = -1;
	opens_close(from->opens, from->channel);
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
static void source_see(struct source *from)
{
	from->looked =
		from->kind == KIND_FILE || !readers_other(from->fd, from->witness->pid, from->pair);
	from->able = from->looked && copies_open(&from->copies, from->fd, from->kind);
	if (from->able && from->used)
		copies_widen(&from->copies);
	if (from->looked)
		return;
	from->asked = 0;
	from->again_at = calls_now() + SOURCE_UNSEEN_MS;
}

/* Says that more of it may be had. */
static void source_offer(struct source *from)
{
	struct job_message m = { .what = JOB_OFFER, .channel = from->channel };

	if (source_is_large(from))
		source_see(from);
	m.ahead = from->able;
	/* The same again says nothing. */
	if (from->feed == FEED_OFFERED && !m.ahead) {
		from->look_at = from->looked ? SESSION_NEVER : from->again_at;
		return;
	}
	if (!session_say(from->session, &m))
		return;
	from->feed = from->able ? FEED_AHEAD : FEED_OFFERED;
	if (from->feed == FEED_OFFERED && !from->looked)
		from->look_at = calls_now() + SOURCE_UNSEEN_MS;
}

static void source_nothing(struct source *from)
{
	const struct job_message m = { .what = JOB_NONE, .channel = from->channel };

	if (from->feed == FEED_OFFERED && !session_say(from->session, &m))
		return;
	from->feed = FEED_IDLE;
	from->ready = false;
}

/* Answers the program's read. */
static void source_answer(struct source *from, size_t room)
{
	uint8_t data[JOB_DATA_MAX];
	ssize_t n;

	n = descriptor_read(from->fd, from->kind, data, room);
	if (n == -EAGAIN) {
		source_nothing(from);
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
	job_end_send(&from->session->end, from->channel, data, n, false);
	if (from->tokens)
		source_given(from, data, n);
}

/* What is left is read in the end, and then all is taken out: until then it is only slower. */
static void source_look_later(struct source *from)
{
	if (!from->look_ms)
		return;
	from->look_at = calls_now() + from->look_ms;
	from->look_ms = from->look_ms < SOURCE_LOOK_MS ? 2 * from->look_ms : 0;
}

void source_look(struct source *from)
{
	if (from->session->now < from->look_at)
		return;
	from->look_at = SESSION_NEVER;
	from->ready = true;
	if (from->feed != FEED_OFFERED)
		return;
	from->asked = SOURCE_AHEAD_AFTER;
	source_offer(from);
}

static void source_copy(struct source *from)
{
	uint8_t data[JOB_DATA_MAX];
	size_t room, left;
	ssize_t n;

	while (from->ready && !from->ended) {
		room = job_end_room(&from->session->end, from->channel);
		left = COPIES_MAX - (from->copies.copied - from->copies.taken);
		room = room < left ? room : left;
		if (!room || room < from->copies.least)
			return;
		n = copies_make(&from->copies, data, room);
		if (n > 0) {
			job_end_send(&from->session->end, from->channel, data, n, true);
			from->copies.copied += n;
		} else if (n == -EAGAIN) {
			from->ready = false;
			source_look_later(from);
		} else {
			from->ended = true;
		}
	}
}

void source_step(struct source *from)
{
	const struct job_message end = { .what = JOB_END, .channel = from->channel };
	size_t room;

	if (from->feed == FEED_NONE)
		return;
	if (from->feed == FEED_AHEAD) {
		source_copy(from);
	} else if (!from->ended) {
		/* Copies are for any reader, and take nothing from others. */
		if (from->session->end.channels[from->channel].unsure)
			from->asked = SOURCE_AHEAD_AFTER;
		if (from->feed == FEED_OFFERED && (from->able || source_is_large(from)))
			source_offer(from);
		room = job_end_room(&from->session->end, from->channel);
		/* What is wanted before it is offered is answered, too. */
		if (from->ready && from->feed == FEED_IDLE && (!room || source_is_large(from)))
			source_offer(from);
		else if (room && from->feed != FEED_AHEAD &&
			 (from->feed == FEED_OFFERED || from->ready))
			source_answer(from, room);
		if (from->feed == FEED_AHEAD)
			source_copy(from);
	}
	if (!from->ended || from->told || !session_say(from->session, &end))
		return;
	from->told = true;
	/* Copies are taken out as they are read. */
	if (from->feed != FEED_AHEAD)
		source_close(from);
}

bool source_wants(const struct source *from, struct pollfd *p)
{
	p->events = POLLIN;
	if (from->ended || from->ready || from->feed == FEED_NONE || from->feed == FEED_OFFERED)
		return false;
	p->fd = from->feed == FEED_AHEAD ? from->copies.events : from->fd;
	return p->fd >= 0;
}

void source_on_poll(struct source *from, short events)
{
	from->ready |= events != 0;
	/* Nothing is taken by saying so, and a program that does not ask is told sooner. */
	if (from->hangs && from->feed == FEED_IDLE && events & POLLHUP && !(events & POLLIN))
		from->ended = true;
}

void source_read(struct source *from, uint64_t total)
{
	const struct job_channel *c = &from->session->end.channels[from->channel];

	if (from->feed != FEED_AHEAD && from->kind != KIND_FILE)
		return;
	/* Before the copies, answers were taken out at once, and are counted, too. */
	if (total <= c->sent - from->copies.copied + from->copies.taken)
		return;
	total -= c->sent - from->copies.copied + from->copies.taken;
	if (total > from->copies.copied - from->copies.taken)
		total = from->copies.copied - from->copies.taken;
	copies_take(&from->copies, total);
	from->copies.taken += total;
	/* A writer that waits in the middle of a write goes on, and epoll reports only its end. */
	from->ready = true;
	from->look_ms = 1;
	if (from->kind == KIND_FILE)
		return;
	from->used = true;
	copies_widen(&from->copies);
}

int source_again(struct source *from)
{
	if (from->kind == KIND_FILE && from->copies.first >= 0)
		return lseek(from->fd, from->copies.first, SEEK_SET) < 0 ? -errno : 0;
	if (from->used)
		return -ESPIPE;
	if (from->feed == FEED_NONE)
		return -EPIPE;
	descriptor_restore(from->fd, from->kind);
	return 0;
}
