// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Open files of the task beside the usual ones, while it runs: those that the executor has opened itself
 * are kept here for their offset and locks, the others are sources and sinks.
 */
#include "opened.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "descriptor.h"
#include "helpers/end/open.h"
#include "stub.h"

#define OPENED_LOCK_MS 20 /* between two tries */

struct source *opened_source(struct stub *s, uint32_t channel)
{
	for (uint32_t i = 0; i < s->nsources; i++)
		if (s->sources[i].channel == channel)
			return &s->sources[i];
	return NULL;
}

struct sink *opened_sink(struct stub *s, uint32_t channel)
{
	for (uint32_t i = 0; i < s->nsinks; i++)
		if (s->sinks[i].channel == channel)
			return &s->sinks[i];
	return NULL;
}

/* ---- the start ---- */

static void opened_use(struct stub *s, uint32_t i)
{
	const struct job_file *f = &s->opens.files[i];
	const uint32_t channel = JOB_CHANNEL_FILES + i;
	const bool reads = f->flags & JOB_OPEN_READ, writes = f->flags & JOB_OPEN_WRITE;
	int fd = s->opens.fds[i], in = fd, out = fd;
	struct source *from;
	struct sink *k;

	/* Each closes its own, and the last of them the one that both are of. */
	if (reads && writes) {
		in = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		out = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	}
	if (reads) {
		from = &s->sources[s->nsources++];
		source_init(from, channel, &s->session, &s->opens, &s->witness);
		from->tokens = f->flags & JOB_OPEN_TOKENS;
		from->pair = writes;
		source_use(from, in);
		/* No descriptor is left for it. */
		from->ended = in < 0;
		/* It is ours alone, also after it was opened again. */
		if (in != fd)
			fcntl(in, F_SETFD, FD_CLOEXEC);
		/* Others take tokens meanwhile: never read ahead. */
		from->looked |= from->tokens;
	}
	if (writes) {
		k = &s->sinks[s->nsinks++];
		sink_init(k, channel, &s->session, &s->opens);
		k->broken = out < 0;
		if (out >= 0)
			sink_use(k, out);
		if (out != fd)
			fcntl(out, F_SETFD, FD_CLOEXEC);
	}
}

void opened_begin(struct stub *s)
{
	const struct opens *o = &s->opens;

	for (int fd = 0; fd < 3; fd++) {
		/* A terminal has a channel of its own, and /dev/null is opened over there. */
		if (!(s->flags & JOB_FD(fd)) || s->flags & (JOB_TTY(fd) | JOB_NULL(fd)))
			continue;
		if (fd)
			sink_use(&s->sinks[fd - 1], fd);
		else
			source_use(&s->sources[0], 0);
	}
	for (uint32_t i = 0; i < o->nfiles; i++)
		if (!o->there[i] && o->files[i].kind != JOB_DEVICE)
			opened_use(s, i);
}

/* ---- files that the executor has opened ---- */

/* The program has left this offset; ours is that of the open file that the parent has, too. */
static void opened_seek(const struct opens *o, uint32_t i, off_t offset)
{
	const bool shared =
		o->files[i].flags & JOB_OPEN_APPEND && !(fcntl(o->fds[i], F_GETFL) & O_APPEND);

	/* It was empty, and others may have written more. */
	if (shared && lseek(o->fds[i], 0, SEEK_CUR) > offset)
		return;
	lseek(o->fds[i], offset, SEEK_SET);
}

int opened_on_message(struct stub *s, const struct job_message *m)
{
	struct opens *o = &s->opens;
	const uint32_t i = m->channel - JOB_CHANNEL_FILES;

	if (m->channel < JOB_CHANNEL_FILES || i >= o->nfiles || o->files[i].kind != JOB_REAL)
		return -EPROTO;
	if (m->what == JOB_OPENED) {
		o->there[i] = true;
		return 0;
	}
	if (!o->there[i])
		return -EPROTO;
	if (m->what == JOB_SEEK)
		opened_seek(o, i, m->offset);
	else
		o->locks[i] = m->exclusive ? LOCK_EX : LOCK_SH;
	return 0;
}

int opened_lock(struct stub *s)
{
	const int64_t now = s->session.now;
	struct opens *o = &s->opens;
	bool all = true;

	if (now < o->lock_at)
		return -EAGAIN;
	if (!o->lock_until)
		o->lock_until = now + s->session.end.limit_ms;
	for (uint32_t i = 0; i < o->nfiles; i++) {
		/* A task that cannot be given it, as on a read-only mount of NFS, goes without. */
		if (o->locks[i] && flock(o->fds[i], o->locks[i] | LOCK_NB) && errno == EWOULDBLOCK)
			all = false;
		else
			o->locks[i] = 0;
	}
	o->lock_at = all ? 0 : now + OPENED_LOCK_MS;
	if (all)
		return 0;
	return now < o->lock_until ? -EAGAIN : -ETIMEDOUT;
}

/* ---- tokens of make's jobserver ---- */

void opened_make_up(struct stub *s)
{
	const uint32_t in = open_tokens(s->opens.files, s->opens.nfiles, JOB_OPEN_READ);
	const uint32_t out = open_tokens(s->opens.files, s->opens.nfiles, JOB_OPEN_WRITE);
	struct source *from = in && out && in != out ? opened_source(s, in) : NULL;
	struct sink *to = from ? opened_sink(s, out) : NULL;
	uint64_t kept, back;

	if (!to || to->fd < 0 || s->opens.made_up)
		return;
	s->opens.made_up = true;
	/* Until those that were not read are put back, all that were sent count as kept. */
	kept = from->tokens ? s->session.end.channels[in].sent : s->session.end.channels[in].read;
	back = to->done + to->length;
	from->tokens = from->used = false;
	/* Which of them they are does not matter to make: all are alike. */
	while (kept > back) {
		size_t n = kept - back < SOURCE_GIVEN ? kept - back : SOURCE_GIVEN;

		if (descriptor_write(to->fd, to->kind, from->given + SOURCE_GIVEN - n, n) <= 0)
			return;
		kept -= n;
	}
}

/* ---- the end ---- */

void opened_end(struct stub *s)
{
	for (uint32_t i = 0; i < s->nsources; i++)
		source_close(&s->sources[i]);
}

const char *opened_again(struct stub *s)
{
	const struct opens *o = &s->opens;

	for (uint32_t i = 1; i < s->nsources; i++)
		if (source_again(&s->sources[i]))
			return "input of another descriptor was lost with it";
	for (uint32_t i = STUB_SINKS; i < s->nsinks; i++) {
		if (s->sinks[i].fd < 0 || s->sinks[i].end)
			return "another descriptor was closed";
		descriptor_restore(s->sinks[i].fd, s->sinks[i].kind);
	}
	for (uint32_t i = 0; i < o->nfiles; i++)
		if (o->there[i] && !(o->files[i].flags & JOB_OPEN_APPEND))
			lseek(o->fds[i], o->files[i].offset, SEEK_SET);
	return NULL;
}
